import 'uplot/dist/uPlot.min.css';
import './styles/page.css';
import { render } from 'preact';
import { Root } from './root';

const place = document.getElementById('app');
if (!place) throw new Error('index.html has no element "app"');
render(<Root />, place);
