/** The image's base name: `registry.example:5000/library/postgres:15-alpine@sha256:…` is `postgres`. */
export function imageName(image: string | null): string {
  const withoutDigest = (image ?? '').split('@')[0] as string
  const last = withoutDigest.slice(withoutDigest.lastIndexOf('/') + 1)
  return (last.split(':')[0] as string).toLowerCase()
}
