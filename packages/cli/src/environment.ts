import { homedir } from 'node:os'
import { join } from 'node:path'

/** Marks a supervised process; its role is in BERTH_ROLE. */
export const supervisedVariable = 'BERTH_SUPERVISED'

/** Path of the launcher that handed over to this version in the data folder. */
export const launcherVariable = 'BERTH_LAUNCHER'

/** Removed from the environment at once: it concerns this process, not the programs that it starts. */
const handedOverBy = process.env[launcherVariable]
delete process.env[launcherVariable]

/** The only code in the CLI that reads environment variables. */
export const environment = {
  url: () => process.env.BERTH_URL || null,
  token: () => process.env.BERTH_TOKEN || null,
  organizationId: () => process.env.BERTH_ORGANIZATION || null,
  configFolder: () => join(process.env.XDG_CONFIG_HOME || join(homedir(), '.config'), 'berth'),
  /** True if set to any value, as defined by https://no-color.org. */
  noColor: () => Boolean(process.env.NO_COLOR),
  role: () => process.env.BERTH_ROLE || 'all',
  /** Whether a supervisor has started this process. Removes the variable, which child processes would inherit. */
  takeSupervised: () => {
    const isSupervised = Boolean(process.env[supervisedVariable])
    delete process.env[supervisedVariable]
    return isSupervised
  },
  /** The launcher that users and service managers run. It may have handed over to a version in the data folder. */
  installedLauncher: () => handedOverBy || process.argv[1] || '',
  hasDatabaseUrl: () => Boolean(process.env.BERTH_DATABASE_URL?.trim()),
  all: () => process.env,
}
