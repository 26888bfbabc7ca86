//! Plans of several tasks: made by a model, checked, carried out by dependency, and made again where they are refused.
