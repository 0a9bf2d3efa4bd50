/** Where images come from on a service for strangers: the engine connects to whatever a name says, and follows where it is sent. */
export const publicRegistries = [
  'docker.io',
  'ghcr.io',
  'quay.io',
  'gcr.io',
  'public.ecr.aws',
  'mcr.microsoft.com',
  'registry.gitlab.com',
  'registry.k8s.io',
  'docker.elastic.co',
  'cgr.dev',
  'lscr.io',
  'nvcr.io',
  'registry.access.redhat.com',
]
