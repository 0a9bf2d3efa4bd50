/** Files in the folder of nginx, which is also its working folder. The edge helper behind nginx uses some of them. */
export const nginxFiles = {
  /** Main file in the folder of each configuration. */
  main: 'nginx.conf',
  /** Symlink to the folder of the active configuration. */
  active: 'active',
  pid: 'nginx.pid',
  errorLog: 'error.log',
  accessLog: 'access.log',
  helperSocket: 'helper.sock',
  certificates: 'certificates',
  temp: 'temp',
} as const
