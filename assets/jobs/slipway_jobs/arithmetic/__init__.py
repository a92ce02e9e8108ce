"""What a recipe needs: split over workers, device and host memory, time and money, checked before submission."""
