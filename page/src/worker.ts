/** Service worker: only so that notifications work on phones. It stores nothing and answers no request. */

/// <reference lib="webworker" />
export {};
declare const self: ServiceWorkerGlobalScope;

self.addEventListener("install", () => void self.skipWaiting());
self.addEventListener("activate", (event) => event.waitUntil(self.clients.claim()));
self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  event.waitUntil(
    self.clients.matchAll({ type: "window", includeUncontrolled: true }).then((pages) => pages[0]?.focus() ?? self.clients.openWindow("/")),
  );
});
