"""Reviewed editing: proposals of a model, reviews by a person, and the writes that follow.

The handlers are in `tools`. `reviews` stores reviews on disk, `settle` ends them, `surfaces` asks the user.
"""
