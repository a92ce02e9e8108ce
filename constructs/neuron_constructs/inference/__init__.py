"""An OpenAI-compatible endpoint: an inference engine in Amazon ECS on Inferentia hosts, behind a load balancer."""
