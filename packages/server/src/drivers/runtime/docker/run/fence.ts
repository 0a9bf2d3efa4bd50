import { errorMessage } from '../../../../platform/error-message.ts'
import type { RunCommand } from '../../../shell/command.ts'

export interface FenceState {
  inForce: boolean
  /** What holds, or why nothing does; for the log and for who runs the instance. */
  words: string
}

export interface FenceSettings {
  instance: string
  shell: RunCommand
  /** For strangers' projects: neither this machine's own services nor its private networks can be reached. */
  isStrict: boolean
  /** Of this machine, where projects are served: a project may call another one by its public name. */
  openPorts: readonly number[]
  /** Told when what holds is another than before, the first time included. */
  onChange?: (state: FenceState) => void
}

/** Where machines ask who they are; Azure's and Alibaba's lie in ranges that are otherwise public or private. */
const metadata = ['169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32']
const inside = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '127.0.0.0/8', '0.0.0.0/8']
const variants = ['iptables', 'iptables-nft', 'iptables-legacy'] as const

/**
 * The engine takes its jump to `DOCKER-USER` out and puts it in again whenever a network is made: for that moment the
 * filter lets everything pass. The security table comes after the filter, and the engine does not know it.
 */
const second = 'security'

/** Bridges of one Berth begin alike, so that one rule holds for those made later. At most 15 letters are a name to the kernel. */
export const bridgePrefix = (instance: string) => `b${instance.slice(0, 7)}`

/** Follows the prefix in the name of a bridge whose network leads nowhere; other names go on in hexadecimal. */
export const internalMark = 'i'

/**
 * Rules of the machine's own packet filter for the bridges of this Berth and no others. They are put in whole and in one
 * step, as often as one likes, and stay while projects run: also while Berth itself does not.
 */
export class Fence {
  readonly #settings: FenceSettings
  #isDenied = false
  /** Rules of a build that a killed control plane has left are removed once. */
  #isTidied = false
  state: FenceState = { inForce: false, words: 'The fence around projects was not put up yet' }

  constructor(settings: FenceSettings) {
    this.#settings = settings
  }

  /** `bridges` are those that were named before there was a prefix. */
  async raise(bridges: readonly string[] = []): Promise<FenceState> {
    if (this.#isDenied) return this.state
    try {
      if (process.getuid?.() !== 0) throw new Error('Berth is not root on this machine')
      const variant = await this.#variant()
      if (!this.#isTidied) await this.openMetadata()
      this.#isTidied = true
      const all = [`${bridgePrefix(this.#settings.instance)}+`, ...bridges]
      const without = await this.#raiseSecond(variant.program, all).then(
        () => '',
        (error) => `, except for the moments in which the engine makes a network: ${errorMessage(error)}`,
      )
      await this.#restore(variant.program, this.#rules())
      for (const bridge of all) {
        await this.#jump(variant.program, 'filter', variant.forward, bridge, this.#chain)
        await this.#jump(variant.program, 'filter', 'INPUT', bridge, `${this.#chain}-IN`)
      }
      const more = this.#settings.isStrict ? ', nor this machine and its private networks' : ''
      this.#say({ inForce: true, words: `Projects in Docker do not reach metadata addresses${more}${without}` })
    } catch (error) {
      const words = errorMessage(error)
      this.#say({
        inForce: false,
        words: `Projects in Docker can reach what this machine reaches, metadata addresses included: ${words}`,
      })
    }
    return this.state
  }

  /** The rules hold for this machine's bridges; an engine elsewhere has its own, and stays there. */
  deny(words: string): void {
    this.#isDenied = true
    this.#say({ inForce: false, words })
  }

  /**
   * Closes metadata addresses to a bridge of the engine's own, but for the addresses of those who are on it with every right. Rejects
   * where that cannot be done. Calling it again replaces the exceptions.
   */
  async closeMetadata(bridge: string, except: readonly string[]): Promise<void> {
    const { program, forward } = await this.#variant()
    const chain = this.#buildChain
    const rules = (verdict: 'REJECT' | 'DROP') => [
      `:${chain} - [0:0]`,
      ...beforeRanges(chain),
      ...except.map((address) => `-A ${chain} -s ${address} -j RETURN`),
      ...ranges(chain, metadata, verdict),
      'COMMIT',
      '',
    ]
    // A machine without the second table has the filter alone, as for the bridges of projects.
    await this.#restore(program, [`*${second}`, ...rules('DROP')].join('\n'))
      .then(() => this.#jump(program, second, 'FORWARD', bridge, chain))
      .catch(() => undefined)
    await this.#restore(program, ['*filter', ...rules('REJECT')].join('\n'))
    for (const from of [forward, 'INPUT']) await this.#jump(program, 'filter', from, bridge, chain)
  }

  /** Takes back what `closeMetadata` did. */
  async openMetadata(): Promise<void> {
    const { program, forward } = await this.#variant()
    await this.#removeChains(
      [program],
      [
        ['filter', forward, this.#buildChain],
        ['filter', 'INPUT', this.#buildChain],
        [second, 'FORWARD', this.#buildChain],
      ],
    )
  }

  async remove(): Promise<void> {
    await this.openMetadata().catch(() => undefined)
    await this.#removeChains(variants, [
      ['filter', 'DOCKER-USER', this.#chain],
      ['filter', 'FORWARD', this.#chain],
      ['filter', 'INPUT', `${this.#chain}-IN`],
      [second, 'FORWARD', this.#chain],
    ])
  }

  async #removeChains(
    programs: readonly string[],
    all: readonly (readonly [table: string, from: string, chain: string])[],
  ): Promise<void> {
    for (const program of programs) {
      const change = (...how: string[]) => this.#run(program, ['-w', '5', '-t', ...how]).catch(() => null)
      for (const [table, from, chain] of all) {
        const listed = await change(table, '-S', from)
        for (const line of (listed?.stdout ?? '').split('\n'))
          if (line.endsWith(`-j ${chain}`)) await change(table, ...line.replace(/^-A/, '-D').split(' '))
      }
      const chains = new Map(all.map(([table, , chain]) => [`${table} ${chain}`, { table, chain }]))
      for (const { table, chain } of chains.values()) for (const how of ['-F', '-X']) await change(table, how, chain)
    }
  }

  get #buildChain(): string {
    return `${this.#chain}-BK`
  }

  #say(state: FenceState): void {
    const isNew = state.words !== this.state.words
    this.state = state
    if (isNew) this.#settings.onChange?.(state)
  }

  /** Bridges of internal networks: neither the machine nor another network is reached from there. */
  get #internal(): string {
    return `${bridgePrefix(this.#settings.instance)}${internalMark}+`
  }

  get #chain(): string {
    return `BERTH-${this.#settings.instance.slice(0, 16)}`
  }

  #rules(): string {
    const { isStrict, openPorts } = this.#settings
    const input = `${this.#chain}-IN`
    const ports = [...new Set([80, 443, ...openPorts])].filter((port) => port > 0)
    const strictInput = [
      `-A ${input} -p icmp -j RETURN`,
      ...ports.map((port) => `-A ${input} -p tcp --dport ${port} -j RETURN`),
      `-A ${input} -j REJECT`,
    ]
    return [
      '*filter',
      ...this.#forward('REJECT', [`-o ${bridgePrefix(this.#settings.instance)}+ -j RETURN`]),
      `:${input} - [0:0]`,
      answersPass(input),
      `-A ${input} -i ${this.#internal} -j REJECT`,
      ...beforeRanges(input),
      ...ranges(input, metadata, 'REJECT'),
      ...(isStrict ? strictInput : []),
      'COMMIT',
      '',
    ].join('\n')
  }

  #forward(verdict: 'REJECT' | 'DROP', neighbours: readonly string[]): string[] {
    const chain = this.#chain
    return [
      `:${chain} - [0:0]`,
      answersPass(chain),
      `-A ${chain} -i ${this.#internal} ! -o ${this.#internal} -j ${verdict}`,
      ...beforeRanges(chain),
      ...ranges(chain, metadata, verdict),
      ...neighbours.map((rule) => `-A ${chain} ${rule}`),
      ...(this.#settings.isStrict ? ranges(chain, inside, verdict) : []),
    ]
  }

  /**
   * What the filter refuses never comes here: whoever asks is refused at once as a rule, and met by silence in that moment.
   * The engine's rules between its bridges are away in it too, so that bridges are kept apart here as well.
   */
  async #raiseSecond(program: string, bridges: readonly string[]): Promise<void> {
    const apart = ['-m physdev --physdev-is-bridged -j RETURN', `-o ${bridgePrefix(this.#settings.instance)}+ -j DROP`]
    await this.#restore(program, [`*${second}`, ...this.#forward('DROP', apart), 'COMMIT', ''].join('\n'))
    for (const bridge of bridges) await this.#jump(program, second, 'FORWARD', bridge, this.#chain)
  }

  /** The one that the engine itself uses; its chain for others comes before all of its own rules. */
  async #variant(): Promise<{ program: string; forward: string }> {
    for (const program of variants)
      if (await this.#run(program, ['-w', '5', '-S', 'DOCKER-USER']).catch(() => null)) return { program, forward: 'DOCKER-USER' }
    for (const program of variants)
      if (await this.#run(program, ['-w', '5', '-S', 'FORWARD']).catch(() => null)) return { program, forward: 'FORWARD' }
    throw new Error('iptables is not there, or not to be used')
  }

  async #jump(program: string, table: string, from: string, bridge: string, chain: string): Promise<void> {
    const rule = ['-i', bridge, '-j', chain]
    const isThere = await this.#run(program, ['-w', '5', '-t', table, '-C', from, ...rule]).catch(() => null)
    if (!isThere) await this.#run(program, ['-w', '5', '-t', table, '-I', from, '1', ...rule])
  }

  /** A whole chain in one step. */
  #restore(program: string, rules: string) {
    return this.#run(`${program}-restore`, ['-w', '5', '--noflush'], rules)
  }

  #run(program: string, args: string[], input?: string) {
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }
    return this.#settings.shell(
      { program, args, env },
      { timeoutMs: 15_000, maxOutputBytes: 100_000, ...(input === undefined ? {} : { input }) },
    )
  }
}

const answersPass = (chain: string) => `-A ${chain} -m conntrack --ctstate RELATED,ESTABLISHED -j RETURN`

/** Answers pass, and questions for names: some clouds answer those at the address of their metadata. */
function beforeRanges(chain: string): string[] {
  return [answersPass(chain), ...['udp', 'tcp'].map((protocol) => `-A ${chain} -p ${protocol} --dport 53 -j RETURN`)]
}

function ranges(chain: string, those: readonly string[], verdict: 'REJECT' | 'DROP'): string[] {
  return those.map((range) => `-A ${chain} -d ${range} -j ${verdict}`)
}
