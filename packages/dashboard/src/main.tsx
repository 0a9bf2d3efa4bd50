import './fonts.css'
import './mantine.css'
import './base.css'
import { MantineProvider } from '@mantine/core'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode, useLayoutEffect } from 'react'
import { createRoot } from 'react-dom/client'
import { queries } from './data/query-client.ts'
import { router } from './router.tsx'
import { Toasts } from './shell/toasts.tsx'
import { styleNonce } from './style-nonce.ts'
import { cssVariables, theme } from './theme.ts'

/** Removes the placeholder of index.html, which is shown until the first render. */
function RemovePlaceholder() {
  useLayoutEffect(() => document.querySelector('.frame')?.remove(), [])
  return null
}

createRoot(document.getElementById('root') as HTMLElement).render(
  <StrictMode>
    <MantineProvider theme={theme} defaultColorScheme="auto" cssVariablesResolver={cssVariables} getStyleNonce={() => styleNonce}>
      <QueryClientProvider client={queries}>
        <RouterProvider router={router} />
        <Toasts />
        <RemovePlaceholder />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)
