import type { Container, ContainerCreateOptions } from 'dockerode'
import { callEngine, statusOf } from '../docker/engine.ts'
import { refuseRoot } from '../docker/run/root-user.ts'
import { removeHelper } from '../docker/run/volume-helper.ts'
import type { SwarmParts } from './swarm-parts.ts'

/** Whether an image has a shell, by image id. It never changes. */
const shells = new Map<string, boolean>()
const maxShells = 1_000

/**
 * Returns whether the image has a shell, which reads the variables from secrets. Rejects if its program would run as root and the
 * operator forbids that. Looks into a container that is never started.
 */
export async function probeImage(
  { Image = '', User }: ContainerCreateOptions,
  { engine, labels, forbidsRoot }: SwarmParts,
  abort: AbortSignal,
): Promise<{ hasShell: boolean }> {
  const known = shells.get(Image)
  if (known !== undefined && !forbidsRoot) return { hasShell: known }
  const probe = await callEngine(
    (abortSignal) =>
      engine.createContainer({
        Image,
        ...(User ? { User } : {}),
        Cmd: ['never'],
        Labels: labels.of('helper'),
        HostConfig: { NetworkMode: 'none' },
        abortSignal,
      }),
    { abort },
  )
  try {
    if (forbidsRoot) await refuseRoot(probe, engine, abort)
    const hasShell = known ?? (await hasFile(probe, '/bin/sh', abort))
    if (shells.size >= maxShells) shells.clear()
    shells.set(Image, hasShell)
    return { hasShell }
  } finally {
    await removeHelper(probe)
  }
}

async function hasFile(container: Container, path: string, abort: AbortSignal): Promise<boolean> {
  try {
    await callEngine((abortSignal) => container.infoArchive({ path, abortSignal }), { abort })
    return true
  } catch (error) {
    if (statusOf(error) === 404) return false
    throw error
  }
}
