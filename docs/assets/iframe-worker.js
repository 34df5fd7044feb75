// Pages opened from a disk may not start workers, and search runs in one. There a hidden frame stands in for it.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      const inside = frame.contentWindow;
      this.inside = inside;
      window.addEventListener("message", (event) => {
        if (event.source === inside) {
          this.dispatchEvent(new MessageEvent("message", { data: event.data }));
        }
      });
      // What a worker script expects to find; scripts are loaded one after the other.
      const prepare = `
        postMessage = (data) => parent.postMessage(data, "*");
        importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, fail) => {
          const script = document.createElement("script");
          script.src = url;
          script.onload = done;
          script.onerror = fail;
          document.body.append(script);
        })), Promise.resolve());`;
      inside.document.open();
      inside.document.write(`<body><script>${prepare}</scr` + `ipt><script src="${url}"></scr` + `ipt></body>`);
      inside.document.close();
    }

    postMessage(data) {
      const send = () => this.inside.dispatchEvent(new MessageEvent("message", { data }));
      if (this.inside.document.readyState === "complete") {
        send();
      } else {
        this.inside.addEventListener("load", send);
      }
    }

    terminate() {
      this.inside.frameElement.remove();
    }
  };
}
