"""TensorRT: live networks, and the limits of its accelerator."""
