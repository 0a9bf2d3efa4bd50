import { spawn } from 'node:child_process'
import { environment } from '../environment.ts'
import { CliError } from '../exit-codes.ts'
import type { Serving, Settings } from '../server-commands.ts'
import type { StopSignal } from '../supervisor/messages.ts'

/** Time limit of a shutdown. Work that is still running after it is recovered at the next start. */
const maxStopMs = 14_000
/** Time that the edge and the projects serve without a control plane, before they are stopped too. */
export const restartWaitSeconds = 10

interface Instance {
  stop: Serving['stop']
  /** Resolves when another machine has taken over the projects. */
  lost: Promise<string>
  /** Where signals come from: this process or its supervisor. */
  signals: { on(signal: StopSignal, listener: () => void): unknown }
  /** The process that service managers and container engines know. */
  mainPid: number
}

/**
 * Resolves when a signal has ended the instance; rejects if another machine has taken over the projects. SIGINT and SIGHUP come
 * from a terminal: they stop the edge and the projects too. SIGTERM may be the first half of a restart: `onStop` decides.
 */
export function stopOnSignal(instance: Instance, onStop: Settings['onStop'], note: (message: string) => void): Promise<void> {
  // If the main process is process 1 of a container, the edge and the projects end with it.
  const keepsOnTerm = onStop === 'keep' || (onStop !== 'stop' && instance.mainPid !== 1)
  return new Promise((resolve, reject) => {
    let isStopping = false
    let isUrgent = false
    const stopOnce = (keepRunning: boolean | 'if-serving', onStopped: () => void) => {
      isStopping = true
      setTimeout(() => process.exit(1), maxStopMs).unref()
      const graceSeconds = () => (isUrgent ? 0 : 4)
      instance.stop({ keepRunning, graceSeconds }).then(({ keptRunning }) => {
        if (keptRunning) leaveRunning(onStop, note)
        onStopped()
      }, reject)
    }
    const stopAll = () => {
      if (isStopping) isUrgent = true
      else {
        note('stopping the control plane, the edge and the projects on this machine… (Ctrl-C again: without waiting for them)')
        stopOnce(false, resolve)
      }
    }
    const { signals } = instance
    signals.on('SIGINT', stopAll)
    signals.on('SIGHUP', stopAll)
    signals.on('SIGTERM', () => {
      if (isStopping) return
      note(keepsOnTerm ? 'stopping the control plane…' : 'stopping the control plane, the edge and the projects on this machine…')
      stopOnce(keepsOnTerm && (onStop === 'keep' || 'if-serving'), resolve)
    })
    void instance.lost.then((message) => {
      if (!isStopping) stopOnce(false, () => reject(new CliError(message)))
    })
  })
}

function leaveRunning(onStop: Settings['onStop'], note: (message: string) => void): void {
  if (onStop === 'keep') note('the edge and the projects keep running. Stop them with: berth down')
  else stopUnlessRestarted(note)
}

/** Starts a separate process, since this one must exit: a service manager waits for its exit before the next start. */
function stopUnlessRestarted(note: (message: string) => void): void {
  note(
    `the edge and the projects serve for ${restartWaitSeconds} s more, so that a restart drops no request; then they are stopped`,
  )
  const [, launcher = ''] = process.argv
  const args = [launcher, 'down', '--unless-restarted', String(restartWaitSeconds)]
  spawn(process.execPath, args, { detached: true, stdio: 'ignore', env: environment.all() }).unref()
}
