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

/** Bridges of one Berth begin alike, so that one rule holds for those made later. At most 15 letters are a name to the kernel. */
export const bridgePrefix = (instance: string) => `b${instance.slice(0, 7)}`

/**
 * Rules of the machine's own packet filter for the bridges of this Berth and no others. They are put in whole and in one
 * step, as often as one likes, and stay while projects run: also while Berth itself does not.
 */
export class Fence {
  readonly #settings: FenceSettings
  state: FenceState = { inForce: false, words: 'The fence around projects was not put up yet' }

  constructor(settings: FenceSettings) {
    this.#settings = settings
  }

  /** `bridges` are those that were named before there was a prefix. */
  async raise(bridges: readonly string[] = []): Promise<FenceState> {
    try {
      if (process.getuid?.() !== 0) throw new Error('Berth is not root on this machine')
      const variant = await this.#variant()
      await this.#run(`${variant.program}-restore`, ['-w', '5', '--noflush'], this.#rules())
      for (const bridge of [`${bridgePrefix(this.#settings.instance)}+`, ...bridges]) {
        await this.#jump(variant.program, variant.forward, bridge, this.#chain)
        await this.#jump(variant.program, 'INPUT', bridge, `${this.#chain}-IN`)
      }
      const more = this.#settings.isStrict ? ', nor this machine and its private networks' : ''
      this.#say({ inForce: true, words: `Projects in Docker do not reach metadata addresses${more}` })
    } catch (error) {
      const words = errorMessage(error)
      this.#say({
        inForce: false,
        words: `Projects in Docker can reach what this machine reaches, metadata addresses included: ${words}`,
      })
    }
    return this.state
  }

  /** The rules hold for this machine's bridges; an engine elsewhere has its own. */
  deny(words: string): void {
    this.#say({ inForce: false, words })
  }

  async remove(): Promise<void> {
    for (const program of variants)
      for (const [from, chain] of [
        ['DOCKER-USER', this.#chain],
        ['FORWARD', this.#chain],
        ['INPUT', `${this.#chain}-IN`],
      ] as const) {
        const listed = await this.#run(program, ['-w', '5', '-S', from]).catch(() => null)
        for (const line of (listed?.stdout ?? '').split('\n'))
          if (line.endsWith(`-j ${chain}`))
            await this.#run(program, ['-w', '5', ...line.replace(/^-A/, '-D').split(' ')]).catch(() => null)
        if (from === 'DOCKER-USER') continue
        for (const how of ['-F', '-X']) await this.#run(program, ['-w', '5', how, chain]).catch(() => null)
      }
  }

  #say(state: FenceState): void {
    const isNew = state.words !== this.state.words
    this.state = state
    if (isNew) this.#settings.onChange?.(state)
  }

  get #chain(): string {
    return `BERTH-${this.#settings.instance.slice(0, 16)}`
  }

  #rules(): string {
    const { isStrict, openPorts, instance } = this.#settings
    const forward = this.#chain
    const input = `${forward}-IN`
    const answers = '-m conntrack --ctstate RELATED,ESTABLISHED -j RETURN'
    const names = (chain: string) => ['udp', 'tcp'].map((protocol) => `-A ${chain} -p ${protocol} --dport 53 -j RETURN`)
    const refused = (chain: string, ranges: readonly string[]) => ranges.map((range) => `-A ${chain} -d ${range} -j REJECT`)
    const ports = [...new Set([80, 443, ...openPorts])].filter((port) => port > 0)
    const strictForward = [`-A ${forward} -o ${bridgePrefix(instance)}+ -j RETURN`, ...refused(forward, inside)]
    const strictInput = [
      `-A ${input} -p icmp -j RETURN`,
      ...ports.map((port) => `-A ${input} -p tcp --dport ${port} -j RETURN`),
      `-A ${input} -j REJECT`,
    ]
    return [
      '*filter',
      `:${forward} - [0:0]`,
      `:${input} - [0:0]`,
      `-A ${forward} ${answers}`,
      // Some clouds answer questions for names at the address of their metadata.
      ...names(forward),
      ...refused(forward, metadata),
      ...(isStrict ? strictForward : []),
      `-A ${input} ${answers}`,
      ...names(input),
      ...refused(input, metadata),
      ...(isStrict ? strictInput : []),
      'COMMIT',
      '',
    ].join('\n')
  }

  /** The one that the engine itself uses; its chain for others comes before all of its own rules. */
  async #variant(): Promise<{ program: string; forward: string }> {
    for (const program of variants)
      if (await this.#run(program, ['-w', '5', '-S', 'DOCKER-USER']).catch(() => null)) return { program, forward: 'DOCKER-USER' }
    for (const program of variants)
      if (await this.#run(program, ['-w', '5', '-S', 'FORWARD']).catch(() => null)) return { program, forward: 'FORWARD' }
    throw new Error('iptables is not there, or not to be used')
  }

  async #jump(program: string, from: string, bridge: string, chain: string): Promise<void> {
    const rule = ['-i', bridge, '-j', chain]
    const isThere = await this.#run(program, ['-w', '5', '-C', from, ...rule]).catch(() => null)
    if (!isThere) await this.#run(program, ['-w', '5', '-I', from, '1', ...rule])
  }

  #run(program: string, args: string[], input?: string) {
    const env = { PATH: '/usr/sbin:/usr/bin:/sbin:/bin' }
    return this.#settings.shell(
      { program, args, env },
      { timeoutMs: 15_000, maxOutputBytes: 100_000, ...(input === undefined ? {} : { input }) },
    )
  }
}
