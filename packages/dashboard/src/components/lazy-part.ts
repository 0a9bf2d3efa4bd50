import { lazyRouteComponent } from '@tanstack/react-router'

const retryDelaysMs = [400, 1000, 2500]

/** A page, or a part of one, whose file is loaded when it is first shown. A failed load is retried. */
export const lazyPart = <Name extends string, Part extends (props: never) => React.ReactNode>(
  load: () => Promise<Record<Name, Part>>,
  name: Name,
) => lazyRouteComponent<Record<Name, Part>, Name>(() => loadWithRetries(load), name)

/** Throws the error of the last attempt. */
async function loadWithRetries<Loaded>(load: () => Promise<Loaded>): Promise<Loaded> {
  for (const delayMs of retryDelaysMs) {
    try {
      return await load()
    } catch {
      await new Promise((resolve) => setTimeout(resolve, delayMs))
    }
  }
  return await load()
}
