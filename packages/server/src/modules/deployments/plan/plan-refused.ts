import type { Detection } from '../../../source/detection/index.ts'

/** The project cannot be built or run as configured; the message says what to change. */
export class PlanRefused extends Error {
  override readonly name = 'PlanRefused'
}

export const noStartCommand =
  'No start command was found. Set one with berth deploy --start-command or in the settings (startCommand), or add a start script to the project.'

/** Message for a source without a start command. In a folder with several apps, the user has to choose one of them. */
export const missingStart = ({ apps }: Pick<Detection, 'apps'>): string =>
  apps.length < 2
    ? noStartCommand
    : `The source has several apps. Set the root directory (rootDirectory) to one of them: ${apps
        .slice(0, 20)
        .map(({ path }) => path)
        .join(', ')}`

const needsDockerText =
  'needs Docker, but this instance runs projects as plain processes. Install Docker on this machine and restart Berth, or move the project to a server with Docker (serverId)'

/** Messages for projects that need containers on an instance without Docker. */
export const needsDocker = {
  dockerfile: `Its Dockerfile ${needsDockerText}. With a start command (startCommand) it runs without its Dockerfile`,
  image: `A project from an image ${needsDockerText}`,
  services: `A project with several services ${needsDockerText}`,
}
