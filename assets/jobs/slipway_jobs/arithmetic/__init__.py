"""What a recipe needs: its split over workers, device and host memory, time and money, checked before it is submitted."""
