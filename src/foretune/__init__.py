"""foretune: tune a state-space model's prior to the task before training it."""
