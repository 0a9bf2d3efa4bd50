/** Files in the folder of nginx, which is also its working folder. The edge behind nginx uses some of them. */
export const nginxFiles = {
  /** Main file in the folder of each configuration. */
  main: 'nginx.conf',
  /** Symlink to the folder of the active configuration. */
  active: 'active',
  pid: 'nginx.pid',
  errorLog: 'error.log',
  accessLog: 'access.log',
  /** A part of the access log that nginx may still write to for a moment. */
  rotatedLog: 'access.log.1',
  /** How far the edge has read the access log. */
  logPosition: 'access.position',
  /** While it exists, clients are told to close their connections. */
  closing: 'closing',
  helperSocket: 'helper.sock',
  certificates: 'certificates',
  temp: 'temp',
} as const

/** The owner of a request in the access log: project, deployment, environment, service. */
export type LogOwner = [projectId: string | null, deploymentId: string | null, environment: string | null, service: string | null]
