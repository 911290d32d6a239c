"""Tables computed from the model that lint and render share."""
