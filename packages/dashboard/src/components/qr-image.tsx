import { qrCode } from '../rules/qr-code.ts'

/** Light modules around the code, which readers need. */
const quietZone = 4

/** A QR code; nothing if the text is too long for one. Dark on white in both themes: many readers need it so. */
export function QrImage({ text, label }: { text: string; label: string }) {
  const rows = qrCode(text)
  if (!rows) return null
  const size = rows.length + 2 * quietZone
  const path = rows.flatMap((row, y) => row.flatMap((isDark, x) => (isDark ? [`M${x} ${y}h1v1h-1z`] : []))).join('')
  return (
    <svg
      role="img"
      aria-label={label}
      width={220}
      height={220}
      viewBox={`${-quietZone} ${-quietZone} ${size} ${size}`}
      shapeRendering="crispEdges"
    >
      <rect x={-quietZone} y={-quietZone} width={size} height={size} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  )
}
