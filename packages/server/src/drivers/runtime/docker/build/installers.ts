/** An install command whose files are known. An option that is missing here makes the install run on the whole source. */
export interface Installer {
  commands: readonly string[]
  /** Files that an install reads. */
  files: RegExp
  /** Whether the content of these files shows that the install needs other files as well. */
  needsOtherFiles(text: string, path: string): boolean
  /** Paths of files that an install reads if they exist, although they are neither manifests nor lockfiles. */
  otherFiles?: RegExp
  /** Files that a manifest refers to, relative to its folder. */
  referencedFiles?(text: string, path: string): string[]
  flags: ReadonlySet<string>
  /** Options with a value that is neither a file nor a folder. */
  valueOptions?: ReadonlySet<string>
  /** Options with the path of a manifest. */
  fileOptions?: ReadonlySet<string>
  /** Operands are paths of manifests. */
  takesFiles?: boolean
  needsNamedFile?: boolean
  /** The command installs the project itself, unless this option or this setting of its manifest excludes that. */
  excludeProject?: { option: string; setting: RegExp }
}

/** Commands that read no file of the project. */
export const needsNoFiles =
  /^(corepack enable( (npm|pnpm|yarn))?|npm (i|install) (-g|--global) (npm|pnpm|yarn|bun|corepack)(@(\d+(\.\d+){0,2}|latest))?)$/

const list = (text: string): ReadonlySet<string> => new Set(text.split(' '))

const node: Pick<Installer, 'files' | 'needsOtherFiles' | 'otherFiles'> = {
  files:
    /(^|\/)(package(-lock)?\.json|npm-shrinkwrap\.json|pnpm-(lock|workspace)\.yaml|yarn\.lock|bun\.lockb?|bunfig\.toml|\.npmrc|\.yarnrc(\.yml)?|\.pnpmfile\.c?js|lerna\.json|\.nvmrc|\.node-version|(\.yarn\/(releases|plugins|patches)|patches)\/[^/]+)$/,
  needsOtherFiles: (text, path) =>
    /"(pre|post)?install"\s*:\s*"|"(pre|post)?prepare"\s*:\s*"|"prepublish"\s*:\s*"|"(file|link|portal|exec):/.test(text) ||
    /^yarn-offline-mirror\b/m.test(text) ||
    (path.endsWith('package.json') && hasFolderDependency(text)),
  otherFiles: /(^|\/)\.yarn\/cache\//,
}

/** True for a dependency whose version is a path. Other fields of the manifest, such as `main`, may hold paths. */
function hasFolderDependency(text: string): boolean {
  try {
    const manifest = JSON.parse(text) as Record<string, Record<string, unknown> | undefined>
    return ['dependencies', 'devDependencies', 'optionalDependencies', 'peerDependencies']
      .flatMap((field) => Object.values(manifest[field] ?? {}))
      .some((version) => typeof version !== 'string' || /^(\.|\/|~\/)|^(?!https?:).*\.t(ar\.)?gz$/.test(version))
  } catch {
    return true
  }
}

const python: Pick<Installer, 'files' | 'needsOtherFiles' | 'referencedFiles'> = {
  files:
    /(^|\/)([^/]*requirements[^/]*\.txt|constraints[^/]*\.txt|requirements\/[^/]+\.txt|pyproject\.toml|uv\.lock|poetry\.(lock|toml)|pdm\.lock|Pipfile(\.lock)?|\.python-version)$/,
  // The project itself, or a folder of it, is one of the dependencies.
  needsOtherFiles: (text, path) =>
    /^[ \t]*(-e\b|--editable|-f\b|--find-links|\.|\/|file:)|^\[build-system\]|\bpath\s*=|@\s*file:|\bfind-links\b/m.test(text) ||
    (path.endsWith('Pipfile') && /\bfile\s*=/.test(text)) ||
    (path.endsWith('.txt') && /^[ \t]*[\w.-]+\/|^[ \t]*[\w.-]+\.(whl|zip|tar\.gz)\b/m.test(text)),
  referencedFiles: (text, path) =>
    path.endsWith('.txt')
      ? [...text.matchAll(/^[ \t]*(?:-r|-c|--requirement|--constraint)[ \t=]*(\S+)/gm)].map((match) => match[1] as string)
      : [],
}

export const installers: readonly Installer[] = [
  {
    commands: ['npm ci', 'npm i', 'npm install'],
    ...node,
    flags: list(
      '--force -f --legacy-peer-deps --strict-peer-deps --ignore-scripts --no-audit --no-fund --audit=false --fund=false --prefer-offline --no-optional --no-progress --progress=false --production --production=false --no-save --silent --quiet --verbose',
    ),
    valueOptions: list('--omit --include --loglevel --registry'),
  },
  {
    commands: ['pnpm i', 'pnpm install'],
    ...node,
    flags: list(
      '--frozen-lockfile --no-frozen-lockfile --frozen-lockfile=false --prod --production -P --dev -D --force --ignore-scripts --no-optional --prefer-offline --shamefully-hoist --strict-peer-dependencies --no-strict-peer-dependencies --silent',
    ),
    valueOptions: list('--reporter --loglevel --registry'),
  },
  {
    commands: ['yarn', 'yarn install'],
    ...node,
    flags: list(
      '--frozen-lockfile --pure-lockfile --immutable --no-immutable --production --production=false --prod --force --ignore-scripts --ignore-engines --ignore-optional --non-interactive --prefer-offline --no-progress --silent --inline-builds',
    ),
    valueOptions: list('--network-timeout --network-concurrency --registry'),
  },
  {
    commands: ['bun i', 'bun install'],
    ...node,
    flags: list('--frozen-lockfile --production -p --force --ignore-scripts --no-save --no-progress --silent --verbose'),
    valueOptions: list('--omit --registry --linker --backend'),
  },
  {
    commands: ['deno install'],
    files: /(^|\/)(deno\.jsonc?|deno\.lock|package\.json)$/,
    needsOtherFiles: () => false,
    flags: list('--frozen --frozen=true --frozen=false --allow-scripts --quiet -q'),
  },
  {
    commands: ['pip install', 'pip3 install'],
    ...python,
    flags: list('--no-cache-dir --upgrade -U --no-deps --require-hashes --pre --prefer-binary --quiet -q'),
    valueOptions: list('--index-url -i --extra-index-url --trusted-host --timeout --retries --only-binary --no-binary'),
    fileOptions: list('-r --requirement -c --constraint'),
    needsNamedFile: true,
  },
  {
    commands: ['uv sync'],
    ...python,
    needsOtherFiles: (text, path) => python.needsOtherFiles(text, path) || /^\s*package\s*=\s*true/m.test(text),
    flags: list(
      '--frozen --locked --no-dev --dev --all-extras --all-groups --no-default-groups --no-install-project --compile-bytecode --no-cache --quiet -q',
    ),
    valueOptions: list('--group --no-group --only-group --extra --python -p'),
  },
  {
    commands: ['poetry install'],
    ...python,
    flags: list(
      '--no-root --no-dev --sync --all-extras --all-groups --compile --no-interaction -n --no-ansi --no-cache --quiet -q',
    ),
    valueOptions: list('--only --with --without --extras -E'),
    excludeProject: { option: '--no-root', setting: /^\s*package-mode\s*=\s*false/m },
  },
  {
    commands: ['pdm sync', 'pdm install'],
    ...python,
    flags: list('--prod --production --dev --no-self --no-editable --frozen-lockfile --no-lock --check --clean --quiet -q'),
    valueOptions: list('--group -G --without'),
    excludeProject: { option: '--no-self', setting: /^\s*distribution\s*=\s*false/m },
  },
  {
    commands: ['pipenv sync', 'pipenv install'],
    ...python,
    flags: list('--deploy --system --dev --ignore-pipfile --skip-lock --pre --quiet -q'),
    valueOptions: list('--categories --python'),
  },
  {
    commands: ['go mod download'],
    files: /(^|\/)go\.(mod|sum|work|work\.sum)$/,
    needsOtherFiles: (text) => /=>\s*\.{1,2}\//.test(text),
    flags: list('-x'),
  },
  {
    commands: ['bundle install', 'bundle'],
    files: /(^|\/)(Gemfile(\.lock)?|\.bundle\/config|\.ruby-version|\.tool-versions)$/,
    needsOtherFiles: (text) => /\bgemspec\b|\bpath:|eval_gemfile|require_relative|\b(File|Dir|IO)\b/.test(text),
    otherFiles: /(^|\/)vendor\/cache\//,
    flags: list('--quiet --deployment --frozen --no-cache'),
    valueOptions: list('--jobs -j --retry --without --with'),
  },
  {
    commands: ['composer install'],
    files: /(^|\/)(composer\.(json|lock))$/,
    needsOtherFiles: (text) => /"(scripts|classmap|files)"\s*:\s*[{[]|"type"\s*:\s*"(path|artifact)"/.test(text),
    flags: list(
      '--no-dev --optimize-autoloader -o --no-interaction -n --no-scripts --no-progress --no-autoloader --prefer-dist --no-plugins --quiet -q --no-ansi --ignore-platform-reqs',
    ),
    valueOptions: list('--ignore-platform-req'),
  },
  {
    commands: ['dotnet restore'],
    files:
      /(^|\/)([^/]+\.(cs|fs|vb)proj|[^/]+\.slnx?|Directory\.[^/]+\.(props|targets)|nuget\.config|NuGet\.Config|packages\.lock\.json|global\.json)$/,
    needsOtherFiles: (text) => /<Import\b/.test(text),
    flags: list('--locked-mode --force --no-cache'),
    valueOptions: list('--runtime -r --verbosity -v'),
    takesFiles: true,
  },
  {
    commands: ['mix deps.get'],
    files: /(^|\/)(mix\.(exs|lock)|config\/[^/]+\.exs)$/,
    needsOtherFiles: (text) => /\bpath:|Code\.(require|eval)_file|File\.read/.test(text),
    flags: list('--check-locked'),
    valueOptions: list('--only'),
  },
]
