"""A picture of the stack's own dashboard over a simulated day, made of what real runs of the offline agents wrote."""
