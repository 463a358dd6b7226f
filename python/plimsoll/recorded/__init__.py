"""Records one training step of a torch.nn.Module without executing it: the operations, what lives when, what each costs."""
