// Faults that affect only Docker, not plain processes. `npm test` runs few end-to-end tests on Docker, so the tests of the driver,
// which use a real engine, must notice each fault.

/** `named`: a part of the title of the test that has to notice it. */
const docker = (name, file, search, replace, test, named) => ({
  name,
  file,
  search,
  replace,
  project: 'unit-programs',
  tests: [test],
  named,
})

const attack = 'docker/docker-attack.test.ts'
const networks = 'docker/docker-networks.test.ts'
const health = 'docker/docker-health.test.ts'
const runtime = 'docker/docker-runtime.test.ts'
const noPrivilege = 'a container has no unneeded privilege'

export const dockerMutations = [
  docker('a container keeps every capability', 'container-settings.ts', "CapDrop: ['ALL']", 'CapDrop: []', attack, noPrivilege),
  docker(
    'a program in a container gains rights',
    'container-settings.ts',
    "SecurityOpt: ['no-new-privileges']",
    'SecurityOpt: []',
    attack,
    noPrivilege,
  ),
  docker(
    'a container may start any number of processes',
    'container-settings.ts',
    'PidsLimit: processLimit',
    'PidsLimit: 0',
    attack,
    noPrivilege,
  ),
  docker('a container may use swap', 'container-settings.ts', 'MemorySwap: memoryMb * mb', 'MemorySwap: -1', attack, noPrivilege),
  docker(
    'a container log has no size limit',
    'container-settings.ts',
    "Config: { 'max-size': '10m', 'max-file': '3' }",
    'Config: {}',
    attack,
    noPrivilege,
  ),
  docker(
    'a read-only container is writable',
    'container-settings.ts',
    'readOnly ? { ReadonlyRootfs: true } : {}',
    'readOnly ? {} : {}',
    attack,
    'container settings of a service are applied',
  ),
  docker(
    'a service gets a capability that it dropped',
    'container-settings.ts',
    'defaultCapabilities.filter((name) => !dropped.includes(name))',
    'rightsOfImages',
    attack,
    'container settings of a service are applied',
  ),
  docker(
    'a service without a network is on the bridge of all',
    'container-settings.ts',
    "NetworkMode: first?.network ?? 'none'",
    "NetworkMode: first?.network ?? 'bridge'",
    networks,
    'a service without a network has loopback only',
  ),
  docker(
    'a service has no name on its network',
    'container-settings.ts',
    '{ Aliases: [...first.aliases] }',
    '{ Aliases: [] }',
    networks,
    'several instances of a service answer to one name',
  ),
  docker(
    'a service on the network of another version has no alias',
    'networks.ts',
    'EndpointConfig: { Aliases: [...aliases] }',
    'EndpointConfig: {}',
    networks,
    'an unchanged service is reached on the networks',
  ),
  docker(
    'a network outlives its last container',
    'networks.ts',
    'for (const { Id } of networks) await this.#remove(Id)',
    'for (const { Id } of networks) void Id',
    networks,
    'networks are removed with the last container',
  ),
  docker(
    'the output of a terminal is read as frames',
    'logs.ts',
    '?.Config.Tty === true',
    '?.Config.Tty === null',
    networks,
    'the output of a service with a terminal',
  ),
  docker(
    'a disabled health check still runs',
    'engine-health.ts',
    "{ Healthcheck: { Test: ['NONE'] } }",
    '{}',
    health,
    'replaces or disables that of the image',
  ),
  docker(
    'the health status of the engine is ignored',
    'engine-health.ts',
    "status: Status === 'healthy' || Status === 'unhealthy' ? Status : 'starting'",
    "status: 'starting'",
    health,
    'the HEALTHCHECK of a Dockerfile is read',
  ),
  docker(
    'programs that a killed control plane started keep running in containers',
    'orphaned-commands.ts',
    "send(orphaned, 'SIGTERM')\n  await pause(graceMs)\n  send(await findOrphanedCommands(labels), 'SIGKILL')",
    'void graceMs',
    runtime,
    'a command of a killed control plane inside a container',
  ),
]
