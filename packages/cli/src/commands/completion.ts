import { Argument, type Command } from 'commander'

/** Prints a shell's completion script, generated from the commands and options themselves. */
export function addCompletion(program: Command): void {
  program
    .command('completion')
    .description('print shell completion, for example: berth completion bash > /etc/bash_completion.d/berth')
    .addArgument(new Argument('<shell>').choices(['bash', 'zsh', 'fish']))
    .action((shell: keyof typeof scripts) => void process.stdout.write(scripts[shell](completionsOf(program))))
}

interface Completions {
  /** The parent commands, joined by spaces; '' at the top level. */
  after: string
  commands: { name: string; description: string }[]
  options: string[]
}

function completionsOf(command: Command, after = ''): Completions[] {
  const shown = command.createHelp().visibleCommands(command)
  const listed = command.commands.filter((one) => shown.includes(one))
  const current = {
    after,
    commands: listed.map((one) => ({ name: one.name(), description: one.description() })),
    options: [...command.options.map(({ long }) => long).filter((long) => long != null), '--help'],
  }
  return [current, ...listed.flatMap((one) => completionsOf(one, [after, one.name()].filter(Boolean).join(' ')))]
}

const candidates = ({ commands, options }: Completions) => [...commands.map(({ name }) => name), ...options].join(' ')

/** Selects the candidates by the commands before the cursor. */
const cases = (all: Completions[]) => all.map((words) => `    '${words.after}') words='${candidates(words)}' ;;`).join('\n')

const selectByPath = (all: Completions[]) => `  local path='' word words=''
  for word in "\${before[@]}"; do
    case "$path $word" in
${all
  .filter(({ after }) => after !== '')
  .map(({ after }) => `      '${after.includes(' ') ? after : ` ${after}`}') path='${after}' ;;`)
  .join('\n')}
    esac
  done
  case "$path" in
${cases(all)}
  esac`

const scripts = {
  bash: (all: Completions[]) => `# completion of berth for bash
_berth() {
  local before=("\${COMP_WORDS[@]:1:COMP_CWORD-1}")
${selectByPath(all)}
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _berth berth
`,
  zsh: (all: Completions[]) => `#compdef berth
_berth() {
  local before=("\${words[@]:1:CURRENT-2}") line
  _berth_words
  compadd -- \${=line}
}
_berth_words() {
${selectByPath(all)}
  line="$words"
}
compdef _berth berth
`,
  fish: (all: Completions[]) =>
    `# completion of berth for fish\ncomplete -c berth -f\n${all.flatMap((words) => fishLines(words)).join('\n')}\n`,
}

function fishLines({ after, commands, options }: Completions): string[] {
  const path = after === '' ? [] : after.split(' ')
  const seen = path.map((word) => `__fish_seen_subcommand_from ${word}`)
  const condition = path.length === 0 ? '__fish_use_subcommand' : seen.join('; and ')
  return [
    ...commands.map(
      ({ name, description }) => `complete -c berth -n '${condition}' -a ${name} -d '${description.replaceAll("'", '’')}'`,
    ),
    ...options.map((option) => `complete -c berth -n '${condition}' -l ${option.slice(2)}`),
  ]
}
