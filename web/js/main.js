const reply = await fetch('/api/v1/version');
const { version } = await reply.json();
document.body.append(`Fedlane ${version}`);
