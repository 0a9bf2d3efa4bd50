/** Product name of the tool that a program belongs to. */
const toolByProgram: Record<string, string> = {
  node: 'Node',
  npm: 'npm',
  npx: 'npm',
  pnpm: 'pnpm',
  yarn: 'Yarn',
  bun: 'Bun',
  bunx: 'Bun',
  deno: 'Deno',
  go: 'Go',
  cargo: 'Rust',
  rustc: 'Rust',
  python: 'Python',
  python3: 'Python',
  pip: 'Python with pip',
  pip3: 'Python with pip',
  poetry: 'Poetry',
  pipenv: 'Pipenv',
  uv: 'uv',
  ruby: 'Ruby',
  bundle: 'Ruby with Bundler',
  bundler: 'Ruby with Bundler',
  gem: 'Ruby',
  rake: 'Ruby with Rake',
  php: 'PHP',
  composer: 'Composer',
  java: 'Java',
  javac: 'a JDK',
  mvn: 'Maven',
  gradle: 'Gradle',
  dotnet: '.NET',
  mix: 'Elixir',
  elixir: 'Elixir',
  hugo: 'Hugo',
  zola: 'Zola',
  mdbook: 'mdBook',
  jekyll: 'Jekyll',
  mkdocs: 'MkDocs',
  make: 'make',
  git: 'git',
  gcc: 'a C compiler',
  cc: 'a C compiler',
}

/** Messages of shells, `env` and Berth's launcher about a missing program. The first group is the program. */
const notFoundMessages = [
  /(?:^|: )(?:line )?(?:\d+: )?'?([\w.+@/-]{1,80})'?: (?:command )?not found$/,
  /^(?:\/usr\/bin\/)?(?:env: )?[‘'"]?([\w.+@/-]{1,80})[’'"]?: (?:No such file or directory|no such program)$/,
]
const maxLinesBack = 8
/** Exit code of shells and of Berth's launcher for a missing program. */
const notFoundExitCode = 127

/** Message about the tool whose absence ended a command, with advice. Null if it ended for another reason. */
export function missingTool(exitCode: number | null, lastLines: readonly string[]): string | null {
  const program = exitCode === notFoundExitCode ? missingProgramIn(lastLines) : null
  return program === null ? null : missingMessage(program)
}

/** Name of the missing program in the last lines of output. */
export function missingProgramIn(lines: readonly string[]): string | null {
  for (const line of lines.slice(-maxLinesBack).reverse())
    for (const pattern of notFoundMessages) {
      const found = pattern.exec(line.trim().slice(-300))?.[1]
      if (found) return found
    }
  return null
}

/** Message about a missing program, with advice for the user. */
export function missingMessage(program: string): string {
  const tool = toolByProgram[program]
  if (tool)
    return `This project needs ${tool} (\`${program}\`), which is not installed on this machine. Install it, or use Docker`
  return `\`${program}\` is not installed. Add it to the project's dependencies, install it on this machine, or use Docker`
}
