import { Progress, Text } from '@mantine/core'
import { percentOf } from '../rules/backup-actions.ts'
import { sizeText } from '../text/sizes.ts'

interface Props {
  label: string
  done: number
  total: number | null
  perSecond?: number
}

/** A progress bar in bytes; animated without a value if the total is unknown. */
export function ByteBar({ label, done, total, perSecond }: Props) {
  const percent = percentOf(done, total)
  return (
    <div style={{ minWidth: '9rem' }}>
      <Progress
        value={percent ?? 100}
        animated={percent === null}
        size="sm"
        aria-label={`${label}, ${percent === null ? 'in progress' : `${Math.round(percent)} percent`}`}
      />
      <Text size="xs" c="dimmed" mt={2}>
        {sizeText(done)}
        {total !== null && ` of ${sizeText(total)}`}
        {perSecond ? ` · ${sizeText(perSecond)}/s` : ''}
      </Text>
    </div>
  )
}
