/**
 * Registries allowed on a cloud with untrusted users: the engine connects to any host in an image name and follows its redirects.
 */
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
