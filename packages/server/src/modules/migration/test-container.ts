import type { ReadContainer, ReadDocker, ReadImage } from '../../drivers/runtime/server/server-reader.ts'

/** Test support: a container as an engine reports it, with a test's changes. */
export const aContainer = (name: string, more: Partial<ReadContainer> = {}): ReadContainer => ({
  id: `id-of-${name}`,
  name,
  image: 'web:1',
  imageId: 'sha256:web',
  state: 'running',
  health: null,
  createdAt: '2030-01-01T00:00:00Z',
  env: ['PATH=/bin', 'MODE=image'],
  command: ['serve'],
  entrypoint: null,
  workingDir: '/',
  user: '',
  hostname: name,
  labels: {},
  restart: 'no',
  ports: [],
  mounts: [],
  networks: { bridge: [] },
  networkMode: 'bridge',
  healthCheck: null,
  limits: { memoryBytes: 0, nanoCpus: 0, pids: 0 },
  rights: { privileged: false, capAdd: [], devices: [], securityOptions: [], pidMode: '', readOnly: false },
  stopSignal: '',
  stopGraceSeconds: null,
  removedAtEnd: false,
  unusual: [],
  ...more,
})

export const anImage: ReadImage = {
  id: 'sha256:web',
  tags: ['web:1'],
  env: ['PATH=/bin', 'MODE=image'],
  command: ['serve'],
  entrypoint: null,
  workingDir: '/',
  user: '',
  labels: {},
  exposedPorts: [],
  volumes: [],
  stopSignal: '',
}

export const ofStack = (project: string, service: string, more: Record<string, string> = {}): Record<string, string> => ({
  'com.docker.compose.project': project,
  'com.docker.compose.service': service,
  'com.docker.compose.project.working_dir': `/srv/${project}`,
  'com.docker.compose.project.config_files': `/srv/${project}/compose.yaml`,
  ...more,
})

export const dockerWith = (...containers: ReadContainer[]): ReadDocker => ({
  version: '20.10',
  containers,
  volumes: [],
  networks: [],
  images: new Map([[anImage.id, anImage]]),
  warnings: [],
})
