"""`toolmason schema`: what providers would refuse or lose of the tools of any server, and what to send instead.

`sources` finds the tools: in the manifest, in files as servers and providers write them, in a running server. `audit`
holds them against targets. `report`, `annotations`, `side_by_side` and `rewriting` say what came of it.
"""
