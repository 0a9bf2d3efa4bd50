export interface UnitOptions {
  /** A unit of the system; else one of the user's own service manager. */
  isSystem: boolean
  node: string
  launcher: string
  /** File with the settings, one NAME=value per line. */
  environmentFile: string
}

export const unitName = 'berth.service'

/** The unit file of systemd. */
export function unitText({ isSystem, node, launcher, environmentFile }: UnitOptions): string {
  const words = [node, launcher, 'up'].map(quoteWord).join(' ')
  return `# Written by berth service install.
[Unit]
Description=Berth, project hosting
Wants=network-online.target
After=network-online.target docker.service
StartLimitIntervalSec=300
StartLimitBurst=10

[Service]
Type=exec
EnvironmentFile=-${environmentFile.replaceAll('%', '%%')}
# A restart ends the control plane alone: the edge and the projects keep serving. berth down stops them.
Environment=BERTH_ON_STOP=keep
KillMode=process
ExecStart=${words}
# Not after berth down, which ends it with exit code 0.
Restart=on-failure
RestartSec=2
TimeoutStopSec=30
# A project or a build that runs out of memory does not stop the others.
OOMPolicy=continue
TasksMax=infinity
LimitNOFILE=65536:524288
${isSystem ? hardening : ''}
[Install]
WantedBy=${isSystem ? 'multi-user.target' : 'default.target'}
`
}

/**
 * Restrictions under which a control plane can still start containers and sandboxes. Left out: PrivateTmp, because a restart would
 * remove its folder while projects use it; ProtectControlGroups, because limits of projects are set there; ProtectHome, because
 * local projects may be there.
 */
const hardening = `NoNewPrivileges=yes
ProtectSystem=full
ProtectClock=yes
ProtectHostname=yes
ProtectKernelLogs=yes
ProtectKernelModules=yes
RestrictRealtime=yes
LockPersonality=yes
`

/** A word of ExecStart: systemd expands $ and % in it. */
const quoteWord = (word: string) =>
  `"${word.replaceAll('\\', '\\\\').replaceAll('"', '\\"').replaceAll('$', '$$$$').replaceAll('%', '%%')}"`

/** A line of an environment file of systemd. Null for a value that such a line cannot hold. */
export function environmentLine(name: string, value: string): string | null {
  if (/[\n\r\0]/.test(value)) return null
  return `${name}="${value.replace(/[\\"$`]/g, '\\$&')}"`
}
