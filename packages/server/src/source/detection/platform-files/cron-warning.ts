import { textOf } from '../../values.ts'

/** A cron job of another host's file; `command` is what to run. */
interface CronJob {
  schedule: unknown
  command: string | null
}

/** Returns a warning about the cron jobs of a file, with the command that creates the first one as a scheduled task. */
export function cronWarning(file: string, crons: readonly CronJob[]): string[] {
  const [first] = crons.filter(({ schedule, command }) => isShown(textOf(schedule)) && isShown(command))
  if (crons.length === 0) return []
  const example = first ? `, for example: berth cron add job-1 --schedule '${textOf(first.schedule)}' -- ${first.command}` : ''
  const subject = crons.length === 1 ? 'its cron job is not created' : `its ${crons.length} cron jobs are not created`
  return [`${file}: ${subject}. Add each as a scheduled task${example}`]
}

const isShown = (text: string | null | undefined) => Boolean(text && text.length <= 100 && !/[\0-\x1f']/.test(text))
