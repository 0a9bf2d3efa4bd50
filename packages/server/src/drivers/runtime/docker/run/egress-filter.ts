import { errorMessage } from '../../../../platform/error-message.ts'
import type { RunCommand } from '../../../shell/command.ts'

export interface EgressFilterState {
  inForce: boolean
  /** Description of the blocked addresses, or of the failure. For the log and the operator. */
  message: string
}

export interface EgressFilterSettings {
  instance: string
  shell: RunCommand
  /** Mode for untrusted projects: blocks the machine's own services and private networks. */
  isStrict: boolean
  /** Ports of this machine that serve projects. They stay open, so that a project can call another by its public name. */
  openPorts: readonly number[]
  /** Called when the state changes, and the first time. */
  onChange?: (state: EgressFilterState) => void
}

/** Cloud metadata addresses. Azure's and Alibaba's are in otherwise public or private ranges. */
const metadataRanges = ['169.254.0.0/16', '168.63.129.16/32', '100.100.100.200/32']
const privateRanges = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10', '127.0.0.0/8', '0.0.0.0/8']
const variants = ['iptables', 'iptables-nft', 'iptables-legacy'] as const

/**
 * Second table for the rules. The engine removes and restores its jump to `DOCKER-USER` whenever it creates a network, and
 * the filter table passes everything meanwhile. The security table comes after it, and the engine does not change it.
 */
const securityTable = 'security'

/** Common name prefix of this Berth's bridges, so that one rule covers future ones. The kernel allows 15 characters in a name. */
export const bridgePrefix = (instance: string) => `b${instance.slice(0, 7)}`

/** Follows the prefix in the bridge name of an internal network. Other names continue with a hexadecimal digit. */
export const internalBridgeLetter = 'i'

/**
 * iptables rules for the bridges of this Berth only. They are replaced atomically, can be applied again at any time, and stay
 * while projects run, even if Berth does not.
 */
export class EgressFilter {
  readonly #settings: EgressFilterSettings
  #isDisabled = false
  /** Whether rules for builds that a killed control plane left were removed. Done once. */
  #hasRemovedOldBuildRules = false
  state: EgressFilterState = { inForce: false, message: 'The egress filter of projects is not active yet' }

  constructor(settings: EgressFilterSettings) {
    this.#settings = settings
  }

  /** Applies the rules. `bridges` are those from before the name prefix. */
  async apply(bridges: readonly string[] = []): Promise<EgressFilterState> {
    if (this.#isDisabled) return this.state
    try {
      if (process.getuid?.() !== 0) throw new Error('Berth is not root on this machine')
      const variant = await this.#findVariant()
      if (!this.#hasRemovedOldBuildRules) await this.unblockMetadata()
      this.#hasRemovedOldBuildRules = true
      const allBridges = [`${bridgePrefix(this.#settings.instance)}+`, ...bridges]
      const exception = await this.#applyToSecurityTable(variant.program, allBridges).then(
        () => '',
        (error) => `, except while the engine creates a network: ${errorMessage(error)}`,
      )
      await this.#restore(variant.program, this.#rules())
      for (const bridge of allBridges) {
        await this.#jump(variant.program, 'filter', variant.forward, bridge, this.#chain)
        await this.#jump(variant.program, 'filter', 'INPUT', bridge, `${this.#chain}-IN`)
      }
      const strictPart = this.#settings.isStrict ? ', this machine and its private networks' : ''
      this.#report({ inForce: true, message: `Projects in Docker cannot reach metadata addresses${strictPart}${exception}` })
    } catch (error) {
      const message = errorMessage(error)
      this.#report({
        inForce: false,
        message: `The egress filter is not active: ${message}. Containers can reach every network of this machine, including cloud metadata addresses.`,
      })
    }
    return this.state
  }

  /** Disables the filter: the rules would apply to this machine's bridges, but the engine is on another machine. */
  disable(
    message = 'The Docker engine has its networks on another machine: projects can reach every network of that machine',
  ): void {
    this.#isDisabled = true
    this.#report({ inForce: false, message })
  }

  /**
   * Blocks metadata addresses for one of the engine's own bridges, except for the listed source addresses of other containers.
   * Rejects on failure. Calling it again replaces the exceptions.
   */
  async blockMetadata(bridge: string, except: readonly string[]): Promise<void> {
    const { program, forward } = await this.#findVariant()
    const chain = this.#buildChain
    const rules = (verdict: 'REJECT' | 'DROP') => [
      `:${chain} - [0:0]`,
      ...allowRepliesAndDns(chain),
      ...except.map((address) => `-A ${chain} -s ${address} -j RETURN`),
      ...blockRanges(chain, metadataRanges, verdict),
      'COMMIT',
      '',
    ]
    // On a machine without the security table only the filter applies, as for the bridges of projects.
    await this.#restore(program, [`*${securityTable}`, ...rules('DROP')].join('\n'))
      .then(() => this.#jump(program, securityTable, 'FORWARD', bridge, chain))
      .catch(() => undefined)
    await this.#restore(program, ['*filter', ...rules('REJECT')].join('\n'))
    for (const parentChain of [forward, 'INPUT']) await this.#jump(program, 'filter', parentChain, bridge, chain)
  }

  /** Reverts `blockMetadata`. */
  async unblockMetadata(): Promise<void> {
    const { program, forward } = await this.#findVariant()
    await this.#removeChains(
      [program],
      [
        ['filter', forward, this.#buildChain],
        ['filter', 'INPUT', this.#buildChain],
        [securityTable, 'FORWARD', this.#buildChain],
      ],
    )
  }

  async remove(): Promise<void> {
    await this.unblockMetadata().catch(() => undefined)
    await this.#removeChains(variants, [
      ['filter', 'DOCKER-USER', this.#chain],
      ['filter', 'FORWARD', this.#chain],
      ['filter', 'INPUT', `${this.#chain}-IN`],
      [securityTable, 'FORWARD', this.#chain],
    ])
  }

  async #removeChains(
    programs: readonly string[],
    all: readonly (readonly [table: string, from: string, chain: string])[],
  ): Promise<void> {
    for (const program of programs) {
      const runIptables = (...args: string[]) => this.#run(program, ['-w', '5', '-t', ...args]).catch(() => null)
      for (const [table, parentChain, chain] of all) {
        const listed = await runIptables(table, '-S', parentChain)
        for (const line of (listed?.stdout ?? '').split('\n'))
          if (line.endsWith(`-j ${chain}`)) await runIptables(table, ...line.replace(/^-A/, '-D').split(' '))
      }
      const chains = new Map(all.map(([table, , chain]) => [`${table} ${chain}`, { table, chain }]))
      for (const { table, chain } of chains.values()) for (const option of ['-F', '-X']) await runIptables(table, option, chain)
    }
  }

  get #buildChain(): string {
    return `${this.#chain}-BK`
  }

  #report(state: EgressFilterState): void {
    const isNew = state.message !== this.state.message
    this.state = state
    if (isNew) this.#settings.onChange?.(state)
  }

  /** Bridges of internal networks, from which neither the machine nor other networks are reachable. */
  get #internalBridges(): string {
    return `${bridgePrefix(this.#settings.instance)}${internalBridgeLetter}+`
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
      allowReplies(input),
      `-A ${input} -i ${this.#internalBridges} -j REJECT`,
      ...allowRepliesAndDns(input),
      ...blockRanges(input, metadataRanges, 'REJECT'),
      ...(isStrict ? strictInput : []),
      'COMMIT',
      '',
    ].join('\n')
  }

  #forward(verdict: 'REJECT' | 'DROP', bridgeRules: readonly string[]): string[] {
    const chain = this.#chain
    return [
      `:${chain} - [0:0]`,
      allowReplies(chain),
      `-A ${chain} -i ${this.#internalBridges} ! -o ${this.#internalBridges} -j ${verdict}`,
      ...allowRepliesAndDns(chain),
      ...blockRanges(chain, metadataRanges, verdict),
      ...bridgeRules.map((rule) => `-A ${chain} ${rule}`),
      ...(this.#settings.isStrict ? blockRanges(chain, privateRanges, verdict) : []),
    ]
  }

  /**
   * Applies the rules to the security table, which matters only while the engine changes the filter table. Packets are dropped
   * then instead of refused. The engine's rules between its bridges are missing as well, so bridges are isolated here too.
   */
  async #applyToSecurityTable(program: string, bridges: readonly string[]): Promise<void> {
    const isolationRules = ['-m physdev --physdev-is-bridged -j RETURN', `-o ${bridgePrefix(this.#settings.instance)}+ -j DROP`]
    await this.#restore(program, [`*${securityTable}`, ...this.#forward('DROP', isolationRules), 'COMMIT', ''].join('\n'))
    for (const bridge of bridges) await this.#jump(program, securityTable, 'FORWARD', bridge, this.#chain)
  }

  /** Finds the iptables variant that the engine uses. Its DOCKER-USER chain comes before its own rules. */
  async #findVariant(): Promise<{ program: string; forward: string }> {
    for (const program of variants)
      if (await this.#run(program, ['-w', '5', '-S', 'DOCKER-USER']).catch(() => null)) return { program, forward: 'DOCKER-USER' }
    for (const program of variants)
      if (await this.#run(program, ['-w', '5', '-S', 'FORWARD']).catch(() => null)) return { program, forward: 'FORWARD' }
    throw new Error('iptables is not installed or not usable')
  }

  /** Makes packets from the bridge jump to the chain first. Does nothing if the rule exists. */
  async #jump(program: string, table: string, parentChain: string, bridge: string, chain: string): Promise<void> {
    const rule = ['-i', bridge, '-j', chain]
    const exists = await this.#run(program, ['-w', '5', '-t', table, '-C', parentChain, ...rule]).catch(() => null)
    if (!exists) await this.#run(program, ['-w', '5', '-t', table, '-I', parentChain, '1', ...rule])
  }

  /** Replaces a whole chain atomically. */
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

const allowReplies = (chain: string) => `-A ${chain} -m conntrack --ctstate RELATED,ESTABLISHED -j RETURN`

/** Rules that let replies and DNS pass. Some clouds serve DNS at their metadata address. */
function allowRepliesAndDns(chain: string): string[] {
  return [allowReplies(chain), ...['udp', 'tcp'].map((protocol) => `-A ${chain} -p ${protocol} --dport 53 -j RETURN`)]
}

function blockRanges(chain: string, addresses: readonly string[], verdict: 'REJECT' | 'DROP'): string[] {
  return addresses.map((range) => `-A ${chain} -d ${range} -j ${verdict}`)
}
