"""Windows of images: convolution, pooling, padding, resampling."""
