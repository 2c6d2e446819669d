// Chart.js, fetched when the first chart is drawn.

const CHART_URL = '/assets/chart.js';
let chartLibrary = null;

export function loadChartLibrary() {
    if (globalThis.Chart)
        return Promise.resolve(globalThis.Chart);
    if (!chartLibrary) {
        chartLibrary = new Promise((resolve, reject) => {
            const script = document.createElement('script');
            script.src = CHART_URL;
            script.addEventListener('load', () => (globalThis.Chart ? resolve(globalThis.Chart)
                : reject(new Error(`${CHART_URL} is not Chart.js`))));
            script.addEventListener('error', () => {
                script.remove();
                reject(new Error(`${CHART_URL} could not be loaded`));
            });
            document.head.append(script);
        });
        chartLibrary.catch(() => {
            chartLibrary = null;
        });
    }
    return chartLibrary;
}
