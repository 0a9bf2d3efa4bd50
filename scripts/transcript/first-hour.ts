import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Step {
  /** Text before the step. */
  message: string
  /** The command as the reader would type it. */
  shown: string
  /** Absent: the output of `berth up` is shown. */
  command?: readonly string[]
  input?: string
  /** The command is expected to fail. */
  fails?: boolean
  /** Changes that the user makes in an editor before the step. */
  prepare?(app: string): Promise<void>
}

const berth = (message: string, ...command: string[]): Step => ({ message, shown: `berth ${command.join(' ')}`, command })

/** A new user's first steps: from nothing to a project with variables, a mistake and its correction. */
export const firstHour = (setUpLink: string): Step[] => [
  { message: 'Start the instance. On its first start it prints a link that makes you its owner.', shown: 'npx berth up' },
  {
    message: 'In a second terminal, use that link once. The CLI stores the token for the next commands.',
    shown: `echo "$PASSWORD" | berth login --setup '${setUpLink}' --email you@example.com --password-stdin`,
    command: ['login', '--setup', setUpLink, '--email', 'you@example.com', '--password-stdin'],
    input: 'correct horse battery\n',
  },
  berth('Deploy the current folder. It needs no configuration file.', 'deploy'),
  berth('Show the address and the status:', 'status'),
  berth('Show the log:', 'logs', '--tail', '3'),
  berth('Set a variable. It takes effect after `berth restart` or the next deployment.', 'env', 'set', 'GREETING=Ahoy'),
  berth('Set a secret. Its value is never shown again.', 'env', 'set', 'API_KEY=s3cr3t-value', '--secret'),
  berth('List the variables:', 'env', 'list'),
  berth('Build the same source again, now with the variables. No request is lost.', 'redeploy'),
  {
    ...berth('Deploy a version with a mistake. The previous version keeps serving, and the error says why.', 'deploy'),
    fails: true,
    prepare: async (app) => {
      const source = await readFile(join(app, 'server.js'), 'utf8')
      await writeFile(join(app, 'server.js'), `import './settings.js'\n${source}`)
    },
  },
  berth('List the deployments:', 'deployments'),
  berth('Roll back to the first deployment, with the variables that it had.', 'rollback', '1'),
  {
    message: 'Run a program in the live deployment, for example a migration. The command ends with its exit code.',
    shown: `berth run -- node -p 'process.version.split(".")[0]'`,
    command: ['run', '--', 'node', '-p', 'process.version.split(".")[0]'],
  },
  berth('Add a domain. The output lists the DNS records to create.', 'domains', 'add', 'hello.example.com'),
  berth('Let the project sleep while it gets no requests. The next request wakes it.', 'sleep', 'auto'),
  berth(
    'Create a token for a CI machine that deploys:',
    'token',
    'create',
    'ci',
    '--scope',
    'project:read',
    'project:write',
    '--days',
    '90',
  ),
  berth(
    'On that machine, `berth login --token-stdin` stores the token. `berth logout` revokes it.\n\nDelete the project. The output lists what is deleted and what is kept; `--yes` skips the prompt.',
    'delete',
    '--yes',
  ),
]
