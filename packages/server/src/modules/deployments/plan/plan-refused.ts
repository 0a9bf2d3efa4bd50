/** The project cannot be built or run as configured; the message says what to change. */
export class PlanRefused extends Error {
  override readonly name = 'PlanRefused'
}

export const nothingStartsIt = 'Nothing says how to start it: set a start command (startCommand), or add one to the project'

const withoutContainers =
  'needs Docker, and this instance runs projects as plain processes: install Docker on this machine and start Berth again, or put the project on a server that has it (serverId)'

/** Messages for projects that need containers on an instance without Docker. */
export const needsDocker = {
  dockerfile: `Its Dockerfile ${withoutContainers}; with a start command (startCommand) it runs without its Dockerfile`,
  image: `A project of an image ${withoutContainers}`,
  services: `A project of several services ${withoutContainers}`,
}
