import { readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export interface Step {
  /** Text before the step. */
  words: string
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

const berth = (words: string, ...command: string[]): Step => ({ words, shown: `berth ${command.join(' ')}`, command })

/** A new user's first steps: from nothing to a project with variables, a mistake and its correction. */
export const firstHour = (setUpLink: string): Step[] => [
  { words: 'Start it. On its first start it says how to become its owner.', shown: 'npx berth up' },
  {
    words: 'In a second terminal, use that link once. The token that you get is kept for the next commands.',
    shown: `echo "$PASSWORD" | berth login --setup '${setUpLink}' --email you@example.com --password-stdin`,
    command: ['login', '--setup', setUpLink, '--email', 'you@example.com', '--password-stdin'],
    input: 'correct horse battery\n',
  },
  berth('Deploy the folder that you are in. Nothing has to be written down first.', 'deploy'),
  berth('Where is it, and how is it?', 'status'),
  berth('What it wrote:', 'logs', '--tail', '3'),
  berth('Its variables count from the next deployment on. Values are never printed.', 'env', 'set', 'GREETING=Ahoy'),
  berth('A secret can be set, and not be read again.', 'env', 'set', 'API_KEY=s3cr3t-value', '--secret'),
  berth('What is set:', 'env', 'list'),
  berth('Build the same source again, now with them; what serves is replaced without a lost request.', 'redeploy'),
  {
    ...berth('Now a mistake. The old version goes on serving, and the reason is told.', 'deploy'),
    fails: true,
    prepare: async (app) => {
      const source = await readFile(join(app, 'server.js'), 'utf8')
      await writeFile(join(app, 'server.js'), `import './settings.js'\n${source}`)
    },
  },
  berth('What was deployed so far:', 'deployments'),
  berth('Go back to the first one, with the variables of its time.', 'rollback', '1'),
  {
    words: 'Run a program inside what is live: a migration, a console, a look around. Its exit code is the command’s.',
    shown: `berth run -- node -p 'process.version.split(".")[0]'`,
    command: ['run', '--', 'node', '-p', 'process.version.split(".")[0]'],
  },
  berth('An address of your own: which records to create is told.', 'domains', 'add', 'hello.example.com'),
  berth('Let it sleep when it gets no requests; the first request wakes it.', 'sleep', 'auto'),
  berth(
    'A token for a machine that deploys, for this and nothing else:',
    'token',
    'create',
    'ci',
    '--scope',
    'project:read',
    'project:write',
    '--days',
    '90',
  ),
  berth('Delete it. The output lists what is deleted and what is kept; --yes skips the prompt.', 'delete', '--yes'),
]
