// The socket is where the page is; textual.js opens it once all is loaded. ?fontsize=20 for larger letters.
const terminal = document.getElementById("terminal");
terminal.dataset.sessionWebsocketUrl = location.origin.replace(/^http/, "ws") + "/ws";
const size = Number(new URLSearchParams(location.search).get("fontsize"));
if (size >= 6 && size <= 72) {
  terminal.dataset.fontSize = String(size);
}
document.getElementById("again").addEventListener("click", () => location.reload());
// Keys go to the dashboard without a click before.
addEventListener("load", () => document.querySelector(".xterm-helper-textarea")?.focus());
