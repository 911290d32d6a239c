"""Reviewed editing: a model proposes a change, a person reviews it, and only then is the file written.

`tools` has the handlers of reviews, and `direct` those of the tools that write without one. `text` computes the new
bytes of a file, `reviews` stores reviews and ends them, `surfaces` asks the person.
"""
