/** Downloads a text as a file. */
export function downloadText(fileName: string, parts: readonly string[]) {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(new Blob([...parts], { type: 'text/plain' }))
  link.download = fileName
  link.click()
  URL.revokeObjectURL(link.href)
}
