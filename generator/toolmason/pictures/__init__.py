"""Pictures of a server as SVG: the geometry. `templates/toolmason_templates/pictures/` draws it, for pages and docs.

Colours come from one style sheet, and no picture depends on a font: labels are measured in letters of a monospaced one.
"""
