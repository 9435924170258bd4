"""TensorRT: live networks, and what its accelerator takes."""
