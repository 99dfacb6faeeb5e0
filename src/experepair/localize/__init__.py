"""Where the fault may be, found without a model: index, signals, ranking."""
