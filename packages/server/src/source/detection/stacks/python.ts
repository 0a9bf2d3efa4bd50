import { quoted } from '../commands.ts'
import type { Evidence } from '../detection.ts'
import { portInCode } from '../port-hints.ts'
import { type PythonTools, pythonTools } from '../python-tools.ts'
import { allOf, anyOf, dependency, file, has } from '../signs.ts'
import { stripHashComments } from '../source-text.ts'
import type { App, Plan, Stack } from '../stack.ts'

export const django: readonly Stack[] = [
  {
    framework: 'django',
    when: allOf(file('manage.py', "Django's own commands"), dependency('python', 'django')),
    plan: djangoPlan,
  },
]

export const pythonServers: readonly Stack[] = [
  { framework: 'fastapi', when: dependency('python', 'fastapi'), plan: fastapiPlan },
  { framework: 'flask', when: dependency('python', 'flask'), plan: flaskPlan },
  { framework: 'starlette', when: dependency('python', 'starlette'), plan: fastapiPlan },
]

const programs = ['main.py', 'app.py', 'server.py', 'run.py', 'bot.py', 'worker.py', 'src/main.py', 'src/app.py', '__main__.py']
const program: Stack['when'] = ({ folder }) => {
  const found = programs.find((name) => folder.has(name))
  return found ? [{ file: folder.full(found), says: 'a Python program' }] : null
}

export const plainPython: readonly Stack[] = [
  {
    framework: 'python',
    when: anyOf(
      program,
      file('pyproject.toml', 'a Python project'),
      file('requirements.txt', 'a Python project'),
      file('Pipfile', 'a Python project'),
    ),
    plan: plainPlan,
  },
]

const listenAnywhere = '--host 0.0.0.0 --port $PORT'

function djangoPlan(app: App): Plan | Promise<Plan> {
  const tools = pythonTools(app)
  const wsgi = findModule(app, 'wsgi')
  const asgi = findModule(app, 'asgi')
  const choices: [boolean, string][] = [
    [has(app, 'python', 'gunicorn') && wsgi !== null, `gunicorn ${wsgi}:application --bind 0.0.0.0:$PORT`],
    [has(app, 'python', 'uvicorn') && asgi !== null, `uvicorn ${asgi}:application ${listenAnywhere}`],
    [has(app, 'python', 'daphne') && asgi !== null, `daphne -b 0.0.0.0 -p $PORT ${asgi}:application`],
  ]
  const found = choices.find(([holds]) => holds)?.[1]
  const start = found ?? 'python manage.py runserver 0.0.0.0:$PORT'
  return withStaticFiles(app, tools, {
    ...planOf(tools, start, 8000),
    warnings: [...tools.warnings, ...(found ? [] : ["Django's development server is used: add gunicorn to the dependencies"])],
  })
}

/** Adds `collectstatic` if the settings define the folder for static files. */
async function withStaticFiles({ folder }: App, tools: PythonTools, plan: Plan): Promise<Plan> {
  for (const path of [...folder.find('*/settings.py'), ...folder.find('*/settings/*.py')].slice(0, 60)) {
    const text = stripHashComments((await folder.text(path)) ?? '')
    if (!/^\s{0,8}STATIC_ROOT\b/m.test(text)) continue
    const evidence = [
      ...(plan.evidence ?? []),
      { file: folder.full(path), says: 'STATIC_ROOT is set, so static files are collected' },
    ]
    return { ...plan, buildCommand: tools.run('python manage.py collectstatic --noinput'), evidence }
  }
  return plan
}

function findModule({ folder }: App, name: string): string | null {
  const path = [...folder.find(`*/${name}.py`), ...folder.find(`*/*/${name}.py`)][0]
  return path && /^[\w/]+\.py$/.test(path) ? path.slice(0, -3).replaceAll('/', '.') : null
}

const modules = [
  'main.py',
  'app.py',
  'server.py',
  'api.py',
  'wsgi.py',
  'app/main.py',
  'app/__init__.py',
  'api/main.py',
  'src/main.py',
  'src/app.py',
  'application.py',
  'run.py',
]

/** Finds the module that creates the app object: `app = FastAPI(`. */
async function findObject(
  { folder }: App,
  pattern: RegExp,
): Promise<{ module: string; name: string; evidence: Evidence } | null> {
  const candidates = [...modules, ...folder.find('*/__init__.py'), ...folder.find('*/main.py'), ...folder.find('*/app.py')].slice(
    0,
    60,
  )
  for (const path of candidates) {
    const name = pattern.exec(stripHashComments((await folder.text(path)) ?? ''))?.[1]
    if (!name || !/^[\w/]+\.py$/.test(path)) continue
    const module = path
      .slice(0, -3)
      .replace(/\/__init__$/, '')
      .replaceAll('/', '.')
    return { module, name, evidence: { file: folder.full(path), says: `creates ${name}` } }
  }
  return null
}

async function fastapiPlan(app: App): Promise<Plan> {
  const tools = pythonTools(app)
  const object = await findObject(app, /^(\w{1,60})(?: *:[^=\n]{1,60})? *= *(?:\w{1,40}\.)?(?:FastAPI|Starlette)\(/m)
  if (!object && (await startsByItself(app))) return plainPlan(app)
  const hasServer = has(app, 'python', 'uvicorn', 'fastapi[standard]', 'fastapi[all]')
  const start = `uvicorn ${object?.module ?? 'main'}:${object?.name ?? 'app'} ${listenAnywhere}`
  return {
    ...planOf(tools, start, 8000),
    evidence: [...tools.evidence, ...(object ? [object.evidence] : [])],
    warnings: [
      ...tools.warnings,
      ...(hasServer ? [] : ['uvicorn is not among the dependencies']),
      ...(object ? [] : ['no file that creates the app was found; main:app is assumed']),
    ],
  }
}

async function flaskPlan(app: App): Promise<Plan> {
  const tools = pythonTools(app)
  const object = await findObject(app, /^(\w{1,60}) *= *(?:flask\.)?Flask\(/m)
  const factory = object ? null : await findObject(app, /^def (create_app|make_app)\(/m)
  if (!object && !factory && (await startsByItself(app))) return plainPlan(app)
  const target = factory ? quoted(`${factory.module}:${factory.name}()`) : `${object?.module ?? 'app'}:${object?.name ?? 'app'}`
  const hasServer = has(app, 'python', 'gunicorn')
  const module = (factory ?? object)?.module ?? 'app'
  const start = hasServer ? `gunicorn ${target} --bind 0.0.0.0:$PORT` : `flask --app ${module} run ${listenAnywhere}`
  const created = factory ?? object
  return {
    ...planOf(tools, start, 5000),
    evidence: [...tools.evidence, ...(created ? [created.evidence] : [])],
    warnings: [
      ...tools.warnings,
      ...(hasServer ? [] : ["Flask's development server is used: add gunicorn to the dependencies"]),
      ...(created ? [] : ['no file that creates the app was found; app:app is assumed']),
    ],
  }
}

/** Whether there is a program that does not import its app from another module. */
async function startsByItself({ folder }: App): Promise<boolean> {
  const entry = programs.find((name) => folder.has(name))
  const text = entry ? stripHashComments((await folder.text(entry)) ?? '') : ''
  return entry !== undefined && !/^from [\w.]{1,100} import [^\n]{0,200}\bapp(?:lication)?\b/m.test(text)
}

/** Libraries that consume messages instead of serving requests. */
const messageLibraries = [
  'discord-py',
  'python-telegram-bot',
  'aiogram',
  'slack-bolt',
  'celery',
  'rq',
  'dramatiq',
  'pika',
  'kafka-python',
]

async function plainPlan(app: App): Promise<Plan> {
  const tools = pythonTools(app)
  const entry = programs.find((name) => app.folder.has(name)) ?? null
  const hint = entry ? await portInCode(app.folder, entry) : null
  const isWorker = has(app, 'python', ...messageLibraries)
  const plan = planOf(tools, entry && `python ${quoted(entry)}`, hint?.port ?? 8000)
  return {
    ...plan,
    ...(isWorker ? { type: 'worker', port: null } : {}),
    evidence: [...tools.evidence, ...(hint && !isWorker ? [hint.evidence] : [])],
    warnings: [...tools.warnings, ...(entry ? [] : ['no start command was found: set the start command'])],
  }
}

const planOf = (tools: PythonTools, start: string | null, port: number): Plan => ({
  type: 'app',
  language: 'python',
  ecosystem: 'python',
  packageManager: tools.manager,
  installCommand: tools.install,
  startCommand: start && tools.run(start),
  port,
  evidence: tools.evidence,
  warnings: tools.warnings,
})
