#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Fit the efficiencies of devices (models/devices/efficiencies.json) to measurements of real GPUs.

usage: fit_devices.py CLI REFERENCE [--write] [--leave-one-out]

CLI is placewright-cli. REFERENCE is a folder with the measurements (measured/) and the checker that builds the networks
which were measured (check_measured.py). `CLI simulate --ops` tells what each op's kernels do; this script has the formula
of core/cost/device_time.cpp, on arrays, and looks for the parameters with the least error. --write replaces the file.
Needs numpy and scipy (python3-scipy). Takes a minute, with --leave-one-out two.

Few parameters are free: by architecture the share of its peak that large products reach and the share of its bandwidth
that elementwise ops reach, all others for all GPUs alike (batched products: by vendor). Each is held near a physical guess,
its prior, by a penalty on its logarithm.

How far times are off (error_*) is found by fits that each leave out one architecture: the errors are those of the
architecture that was left out. core/sim/step_error.hpp makes the 80 % interval of a step of them; --leave-one-out shows
how many of the measured steps lie within.
"""
import argparse, csv, glob, importlib.util, json, math, os, re, tempfile

import numpy as np
from scipy.optimize import minimize
from scipy.stats import chi2

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), '..')
FILE = os.path.join(ROOT, 'models', 'devices', 'efficiencies.json')
TYPES = ['fp64', 'fp32', 'tf32', 'fp16', 'bf16', 'fp8', 'int8']
CLASSES = ['none', 'product', 'batched', 'convolution', 'depthwise', 'elementwise', 'softmax', 'norm', 'reduction', 'copy',
           'gather', 'scatter', 'update']
OTHER_POWER_W, SPLIT_DEPTH, SHORT_SIDE, SPLIT_DEPTH_OF_SHORT = 20, 2048, 64, 128  # as in device_time.cpp

# Prior and width (standard deviation of the logarithm) of what all GPUs share.
SHARED = {
    'half_depth': (60, 0.7), 'half_width': (16, 0.7), 'half_outputs_per_tflops': (2500, 0.15),
    'batched_nvidia': (1.2, 0.3), 'batched_amd': (0.95, 0.3), 'convolution_vector': (1, 0.3), 'convolution_matrix': (0.95, 0.2),
    'winograd': (1.6, 0.3), 'grouped_convolution': (0.6, 0.4), 'convolution_gradient': (1, 0.2),
    # Relative to the share of elementwise ops:
    'softmax': (1, 0.15), 'norm': (0.75, 0.2), 'reduction': (0.9, 0.15), 'copy': (0.85, 0.3), 'gather': (0.65, 0.3),
    'scatter': (0.5, 0.12), 'depthwise': (0.6, 0.4), 'update': (1, 0.2), 'product_memory': (0.9, 0.2),
    'launch_s': (2.2e-6, 0.05), 'product_launch_s': (1.5e-6, 0.1), 'joules_pascal': (2.05e-11, 0.2),
}
RELATIVE = ['softmax', 'norm', 'reduction', 'copy', 'gather', 'scatter', 'depthwise', 'update', 'product_memory']
# Of each measured architecture: share of products on the ordinary and on the matrix units, and of elementwise ops.
MEASURED = {
    'volta': (0.95, 0.75, 0.9), 'ampere-ga100': (0.95, 0.75, 0.88), 'pascal': (0.9, 0.75, 0.78), 'kepler': (0.55, 0.75, 0.72),
    'cdna1': (0.75, 0.5, 0.8), 'cdna2': (0.75, 0.5, 0.78), 'ampere': (0.95, 0.95, 0.9), 'turing': (0.95, 0.75, 0.8),
    'ada': (0.95, 0.85, 0.88),
}
# Milliseconds in which one layer of Llama-2-70B, that of Llama-3-70B, decodes a token for each of two sequences in float16:
# Helix (Mei et al., 2025), simulator/model_manager/llama2_70b/*/decode_bs2time.csv.
DECODED_LAYER_MS = {'a100-sxm-40': 1.4, 'v100-sxm': 2.3, 't4': 7.1, 'l4': 6.9}
# Parameters that these times determine: products of two rows mostly read weights, and nothing else was measured on a T4 and
# an L4. They are fitted last, with all others fixed, since the other measurements trade them against the shares of compute.
FITTED_TO_DECODE = ('elementwise turing', 'elementwise ada', 'product_memory')
WIDTH_OF_ARCHITECTURE = 0.1
MOST = 0.97  # share of a bandwidth

# As in core/sim/step_error.cpp: the error that no class explains, and 80 % of a normal distribution.
STEP_DEVIATION, EIGHTY_PERCENT = 0.03, 1.2816
# Suites of whole steps, and of ops of one class.
STEPS, OPS = ('timm', 'tf2017', 'steps'), ('ops', 'kineto')
# Which error holds for a class of ops.
ERROR_OF = {'none': 'elementwise', 'reduction': 'copy', 'update': 'copy', 'scatter': 'gather'}
# Prior and width of the errors that are found from whole steps alone: few networks have depthwise convolutions.
STEP_ERRORS = {'device': (0.1, 1.0), 'convolution': (0.2, 1.0), 'depthwise': (0.4, 0.7)}
# Of architectures whose own measurements were used: the error of the device, and of convolutions where the networks that
# were measured have them. They are larger than the residuals of the fit, which has seen these networks.
OWN_ERRORS = {'volta': dict(device=0.03, convolution=0.1), 'ampere-ga100': dict(device=0.04), 'ampere': dict(device=0.05, convolution=0.1, depthwise=0.25),
              'cdna1': dict(device=0.05), 'cdna2': dict(device=0.06),
              # Measured on a P4 alone, whose 75 W hold its clock down by an amount that depends on the product.
              'pascal': dict(device=0.12)}


def checker(reference):
    spec = importlib.util.spec_from_file_location('check_measured', os.path.join(reference, 'check_measured.py'))
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def data_sheets(module):
    """Data sheet by the checker's key of a device."""
    by_name = {}
    for path in glob.glob(os.path.join(ROOT, 'models', 'devices', '*.json')):
        with open(path) as f:
            for device in json.load(f).get('devices', []):
                for name in [device['model'], *device['aliases']]:
                    by_name[module.plain(name)] = device
    return {key: next(by_name[module.plain(n)] for n in facts['names'] if module.plain(n) in by_name)
            for key, facts in module.DEVICES.items()}


def family(network):
    """Of networks that are built alike, wide and grouped residual networks among the others."""
    name = re.match('[a-z]+', network)[0]
    return 'resnet' if name in ('wide', 'resnext') else name


class Samples:
    """Measured times, each of a number of ops on one device: suite, device, label, weight, ops, seconds, family of the network."""

    def __init__(self, cli, module, reference):
        self.rows = []
        self.module = module
        with tempfile.TemporaryDirectory() as tmp:
            self.bench, self.tmp = module.Bench(cli, tmp, 'catalogue', ''), tmp
            measured = os.path.join(reference, 'measured')
            self.timm(os.path.join(measured, 'timm'))
            self.tensorflow(os.path.join(measured, 'tf2017'))
            self.kineto(os.path.join(measured, 'kineto'))
            self.neusight(os.path.join(measured, 'neusight'))
            self.helix(os.path.join(reference, 'llm', 'llama-3-70b', 'config.json'))

    def ops(self, graph, device, *options, memory=None):
        path = os.path.join(self.tmp, 'ops.csv')
        self.bench.simulate(graph, self.bench.machine(device, host=False, memory=memory), *options, '--ops', path)
        with open(path) as f:
            return list(csv.DictReader(f))

    def timm(self, root):
        m = self.module
        for p in m.load(os.path.join(root, 'points.json')):
            net = m.Net(p['model'], p['batch'])
            net.loss(m.VISION[p['model']](net, net.input([3, p['image'], p['image']])))
            net.ops = m.autocast(net.ops)
            ops = self.ops(self.bench.write(net.json()), 'rtx3090', '--optimizer', 'momentum')
            self.rows.append(('timm', 'rtx3090', p['model'], 1.0, ops, p['step_ms'] * 1e-3, family(p['model'])))

    def tensorflow(self, root):
        for p in self.module.load(os.path.join(root, 'points.json')):
            ops = self.ops(self.module.shipped(self.bench, p['network'], p['batch']), p['device'], '--optimizer', 'sgd')
            self.rows.append(('tf2017', p['device'], p['network'], 0.5, ops, p['batch'] / p['images_per_s'],
                              'tf ' + family(p['network'])))

    def kineto(self, root):
        for path in sorted(glob.glob(os.path.join(root, 'v100*.json'))):
            facts = self.module.load(path)
            ops = self.ops(self.module.shipped(self.bench, facts['network'], facts['batch']), facts['device'], '--optimizer',
                           facts['optimizer'])
            whole = sum(k['ms'] for k in facts['kernels'])
            for k in facts['kernels']:
                mine = [o for o in ops if ('' if o['phase'] == 'update' else o['kind'], o['phase']) == (k['kind'], k['phase'])]
                self.rows.append(('kineto', facts['device'], k['kind'] + ' ' + k['phase'], 10 * k['ms'] / whole, mine, k['ms'] * 1e-3,
                                  'kineto'))

    def neusight(self, root):
        m = self.module
        graphs, times = m.load(os.path.join(root, 'graphs.json.gz')), m.load(os.path.join(root, 'times.json.gz'))
        for gpu, entries in times.items():
            device = m.NEUSIGHT_GPUS[gpu]
            for key, t in entries.items():
                training, graph = '-train-' in key, graphs[t['graph']]
                if not training:
                    graph = dict(graph, **{p: [[o[0], 'identity', *o[2:5], 0] if o[1] == 'dropout' else o for o in graph[p]]
                                           for p in ('pre', 'layer', 'post')})
                measured, settled = m.neusight_measured(graph, t, training)
                if not settled:
                    continue
                ops = self.ops(self.bench.write(m.neusight_graph(graph, key, training)), device, *(['--optimizer', 'sgd'] if training else []))
                by_name = {o['op']: o for o in ops}
                whole = sum(n * s for _, _, n, s in measured)
                for op, kind, n, s in measured:
                    if s > 0 and op in by_name:
                        self.rows.append(('ops', device, kind, n * s / whole, [by_name[op]], s, key.split('-')[0]))
                if training:
                    self.rows.append(('backward', device, key, 0.5, [o for o in ops if o['phase'] != 'forward'], t['backward_ms'] * 1e-3,
                                      key.split('-')[0]))
                self.rows.append(('steps', device, key, 0.5, ops, t['e2e_ms'] * 1e-3, key.split('-')[0]))

    def helix(self, config):
        for device, ms in DECODED_LAYER_MS.items():
            ops = self.ops(config, device, '--phase', 'decode', '--batch', '2', '--sequence', '256', '--dtype', 'fp16', memory=4e11)
            self.rows.append(('helix', device, 'decode', 1.0, [o for o in ops if o['op'].startswith('model/layers/1/')], ms * 1e-3, 'llama'))


class Model:
    """device_time_s() of all different ops at once, as a function of the parameters."""

    def __init__(self, samples, sheets):
        self.samples = samples
        self.measured = np.array([row[5] for row in samples])
        self.weights = np.array([row[3] for row in samples])
        columns = ('class', 'type', 'gradient', 'flops', 'bytes', 'stream_bytes', 'kernels', 'products')
        index, ops, self.op, self.sample = {}, [], [], []
        for i, (_, device, _, _, rows, _, _) in enumerate(samples):
            for row in rows:
                key = (device, *(row[c] for c in columns))
                if key not in index:
                    index[key] = len(ops)
                    ops.append(key)
                self.op.append(index[key])
                self.sample.append(i)
        self.op, self.sample = np.array(self.op), np.array(self.sample)
        sheet = [sheets[o[0]] for o in ops]
        self.architectures = sorted({s['architecture'] for s in sheet})
        self.architecture = np.array([self.architectures.index(s['architecture']) for s in sheet])
        self.amd = np.array([s['vendor'] == 'AMD' for s in sheet])
        self.work_class = np.array([CLASSES.index(o[1]) for o in ops])
        self.single = np.array([o[2] == 'fp32' for o in ops])
        self.gradient = np.array([o[3] == '1' for o in ops])
        self.flops, self.bytes, self.stream_bytes, self.kernels = (np.array([float(o[i]) for o in ops]) for i in (4, 5, 6, 7))
        self.products = np.zeros((len(ops), 2, 5))  # batch, rows, columns, depth, Winograd
        for i, o in enumerate(ops):
            for k, text in enumerate(filter(None, o[8].split(';'))):
                self.products[i, k] = [*map(float, text.rstrip('w').split('x')), text.endswith('w')]
        matrix = np.array([s.get('matrix_flops', {}).get(o[2], 0) for s, o in zip(sheet, ops)])
        vector = np.array([s['vector_flops'].get(o[2], 0) for s, o in zip(sheet, ops)])
        self.peak = np.where(matrix > 0, matrix, vector)
        self.narrow = (matrix > 0) & np.array([o[2] not in ('fp32', 'fp64') for o in ops])
        self.bandwidth, self.power = (np.array([s[k] for s in sheet]) for k in ('memory_bandwidth', 'power_w'))
        self.peak_of_elements = np.array([s['vector_flops']['fp32'] for s in sheet])
        self.names, prior, width = [], [], []
        for a in self.architectures:
            for name, value in zip(('vector', 'matrix', 'elementwise'), MEASURED[a]):
                self.names.append(name + ' ' + a)
                prior.append(value)
                width.append(WIDTH_OF_ARCHITECTURE)
        for name, (value, deviation) in SHARED.items():
            self.names.append(name)
            prior.append(value)
            width.append(deviation)
        self.prior, self.width = np.log(prior), np.array(width)

    def named(self, x):
        return dict(zip(self.names, np.exp(x)))

    def predict(self, x):
        """Seconds of each sample."""
        return np.bincount(self.sample, weights=self.op_seconds(x)[self.op], minlength=len(self.samples))

    def op_seconds(self, x):
        """Seconds of each different op."""
        p = self.named(x)
        vector, matrix, element = (np.array([p[n + ' ' + a] for a in self.architectures])[self.architecture]
                                   for n in ('vector', 'matrix', 'elementwise'))
        element = np.minimum(element, MOST)
        speed = self.peak * np.where(self.narrow, np.minimum(matrix, 1), np.minimum(vector, 1))
        is_pascal = np.array([a == 'pascal' for a in self.architectures])[self.architecture]
        limit = np.where(is_pascal & ~self.narrow, (self.power - OTHER_POWER_W) / p['joules_pascal'], np.inf)
        speed = np.minimum(speed, limit)
        convolution = (self.work_class == CLASSES.index('convolution')) | (self.work_class == CLASSES.index('depthwise'))
        factor = np.where(self.work_class == CLASSES.index('batched'), np.where(self.amd, p['batched_amd'], p['batched_nvidia']), 1)
        factor = factor * np.where(convolution, np.where(self.narrow, p['convolution_matrix'], p['convolution_vector']), 1)
        factor = factor * np.where(convolution & self.gradient, p['convolution_gradient'], 1)
        count = (self.products[:, :, 0] > 0).sum(axis=1)
        compute = np.where(count == 0, self.flops / self.peak_of_elements, 0)
        for k in (0, 1):
            there = self.products[:, k, 0] > 0
            batch, rows, columns, depth = (np.where(there, self.products[:, k, i], 1) for i in range(4))
            own = factor * np.where(convolution & (batch > 1), p['grouped_convolution'], 1)
            own = own * np.where(convolution & (self.products[:, k, 4] > 0) & ~self.narrow & self.single, p['winograd'], 1)
            short = np.minimum(rows, columns) <= SHORT_SIDE
            outputs = batch * rows * columns * np.maximum(1, depth / np.where(short, SPLIT_DEPTH_OF_SHORT, SPLIT_DEPTH))
            own = own * depth / (depth + p['half_depth']) * columns / (columns + p['half_width'])
            own = own * outputs / (outputs + p['half_outputs_per_tflops'] * self.peak * 1e-12)
            compute = compute + np.where(there, 2 * batch * rows * columns * depth / (speed * own), 0)
        relative = np.ones(len(CLASSES))
        for name in RELATIVE:
            for c in ('product', 'batched', 'convolution') if name == 'product_memory' else (name,):
                relative[CLASSES.index(c)] = p[name]
        share = np.minimum(element * relative[self.work_class], MOST)
        seconds = np.maximum(compute, self.bytes / (share * self.bandwidth)) + self.stream_bytes / (element * self.bandwidth)
        seconds = seconds + self.kernels * p['launch_s'] + count * p['product_launch_s']
        return np.where(self.work_class == 0, 0, seconds)

    def fit(self, weights, start, rounds=5, names=None):
        """The parameters with the least error. With `names`, only these differ from `start`."""
        free, x = np.array([names is None or name in names for name in self.names]), start.copy()
        def loss(values):
            x[free] = values
            error = np.log(np.maximum(self.predict(x), 1e-9) / self.measured)
            return np.sum(weights * np.sqrt(error ** 2 + 1e-3)) / np.sum(weights) + 0.006 * np.mean(((x - self.prior) / self.width) ** 2)
        for _ in range(rounds):
            x[free] = minimize(loss, x[free], method='Powell', options=dict(maxiter=2, xtol=2e-2, ftol=1e-4)).x
        return x

    def report(self, x):
        ratio = self.predict(x) / self.measured
        print('%-10s %5s %8s %8s %8s' % ('', 'n', 'median', 'largest', 'rms log'))
        for suite in dict.fromkeys(row[0] for row in self.samples):
            mine = [i for i, row in enumerate(self.samples) if row[0] == suite and ratio[i] > 0]
            error = np.abs(ratio[mine] - 1)
            print('%-10s %5d %8.3f %8.3f %8.3f' % (suite, len(mine), np.median(error), error.max(), np.sqrt(np.mean(np.log(ratio[mine]) ** 2))))

    def fits_without_architectures(self, x):
        """By architecture: its samples, and the parameters when these are not used."""
        fits = {}
        for a in self.architectures:
            own = np.zeros(len(self.samples), bool)
            own[self.sample[self.architecture[self.op] == self.architectures.index(a)]] = True
            of_it = np.array([name.endswith(' ' + a) for name in self.names])
            y = self.fit(np.where(own, 0, self.weights), np.where(of_it, self.prior, x), 2)
            fits[a] = own, np.where(of_it, self.prior, y)
        return fits

    def fits_without_networks(self, x):
        """The same by family of networks, for those with measured steps."""
        families = np.array([row[6] for row in self.samples])
        return {f: (families == f, self.fit(np.where(families == f, 0, self.weights), x, 2)) for f in dict.fromkeys(families[self.suite(STEPS)])}

    def logs(self, x):
        """Logarithm of computed over measured time, of each sample."""
        return np.log(np.maximum(self.predict(x), 1e-9) / self.measured)

    def class_shares(self, x):
        """Share of each class of ops in the time of each sample."""
        shares = np.zeros((len(self.samples), len(CLASSES)))
        np.add.at(shares, (self.sample, self.work_class[self.op]), self.op_seconds(x)[self.op])
        return shares / np.maximum(shares.sum(axis=1, keepdims=True), 1e-12)

    def suite(self, names):
        return np.array([row[0] in names for row in self.samples])

    def errors(self, fits):
        """The errors of architectures that were not measured, by class and of the device.

        Of a class with measured ops: the root mean square, over the architectures that were left out, of the mean error of
        its ops by their weight. Of the device, and of convolutions, which are known from whole steps: those with the
        greatest likelihood of the steps of the architectures that were left out. There are few of these, so the error of
        the device is the upper end of its one-sided interval of 80 %."""
        found = {}
        for c, name in enumerate(CLASSES):
            means = []
            for own, y in fits.values():
                mine = own & self.suite(OPS) & (self.class_shares(y)[:, c] == 1)
                if self.weights[mine].sum() > 0:
                    means.append(np.average(self.logs(y)[mine], weights=self.weights[mine]))
            if len(means) > 1:
                found.setdefault(ERROR_OF.get(name, name), []).extend(means)
        errors = {name: float(np.sqrt(np.mean(np.square(means)))) for name, means in found.items()}
        logs, shares, weights, count = [], [], [], 0
        for own, y in fits.values():
            mine = own & self.suite(STEPS)
            logs.append(self.logs(y)[mine])
            shares.append(self.class_shares(y)[mine])
            # Steps of one architecture have much of their error in common.
            weights.append(np.full(mine.sum(), 1 / np.sqrt(max(1, mine.sum()))))
            count += mine.any()
        logs, shares, weights = (np.concatenate(v) for v in (logs, shares, weights))
        names = list(STEP_ERRORS)
        prior, width = np.log([STEP_ERRORS[n][0] for n in names]), np.array([STEP_ERRORS[n][1] for n in names])

        def loss(z):
            variance = step_deviation(dict(errors, **dict(zip(names, np.exp(z)))), shares) ** 2
            return np.sum(weights * (np.log(variance) + logs ** 2 / variance)) + np.sum(((z - prior) / width) ** 2)
        errors.update(zip(names, np.exp(minimize(loss, prior, method='Nelder-Mead').x)))
        errors['device'] *= np.sqrt(count / chi2.ppf(0.2, count))
        return errors

    def report_left_out(self, title, fits, errors):
        """The errors of the steps that a fit has not seen, and how many lie within the interval."""
        print('%-20s %5s %8s %8s %8s' % (title, 'steps', 'mean log', 'rms log', 'within'))
        steps = within = 0
        for name, (own, x) in fits.items():
            mine = own & self.suite(STEPS)
            if not mine.any():
                continue
            logs, shares = self.logs(x)[mine], self.class_shares(x)[mine]
            deviation = np.array([step_deviation(errors(self.architecture_of(i)), shares[k:k + 1])[0] for k, i in enumerate(np.flatnonzero(mine))])
            inside = (np.abs(logs) <= EIGHTY_PERCENT * deviation).sum()
            print('%-20s %5d %+8.3f %8.3f %8d' % (name, len(logs), logs.mean(), np.sqrt(np.mean(logs ** 2)), inside))
            steps, within = steps + len(logs), within + inside
        print('%-20s %5d %26.0f %%' % ('all', steps, 100 * within / steps))

    def architecture_of(self, sample):
        return self.architectures[self.architecture[self.op[self.sample == sample][0]]]


def step_deviation(errors, shares):
    """StepError::deviation of steps on one device, by the shares of classes in them."""
    of_class = np.array([errors[ERROR_OF.get(name, name)] for name in CLASSES])
    return np.sqrt(STEP_DEVIATION ** 2 + errors['device'] ** 2 + np.sum((shares * of_class) ** 2, axis=1))


def rounded(value):
    return float('%.3g' % value)


def table(p, errors):
    """The entries of the file, by architecture."""
    def error_fields(these):
        return {'error_' + name: float('%.2g' % value) for name, value in these.items()}
    def memory(share):
        return dict(elementwise=rounded(min(share, MOST)), **{n: rounded(min(share * p[n], MOST)) for n in RELATIVE})
    entries = {'gpu': dict(
        product_vector=0.8, product_matrix=0.6, batched_product=1, cache_speed=1,
        **{n: rounded(p[n]) for n in ('half_depth', 'half_width', 'half_outputs_per_tflops', 'convolution_vector', 'convolution_matrix',
                                      'winograd', 'grouped_convolution', 'convolution_gradient', 'launch_s', 'product_launch_s')},
        **memory(0.8), **error_fields(dict(errors, device=0.15)))}

    def add(name, like, vector=None, matrix=None, share=None, **others):
        entry = dict(like=like)
        entry.update({k: rounded(min(v, 0.98)) for k, v in (('product_vector', vector), ('product_matrix', matrix)) if v})
        entry.update(others)
        if share:
            entry.update(memory(share))
        entries[name] = entry

    def fitted(name, like='nvidia-gpu', **others):
        add(name, like, p['vector ' + name], p['matrix ' + name], p['elementwise ' + name], **others, **error_fields(OWN_ERRORS[name]))
    measured_vendor = error_fields(dict(device=errors['device']))
    add('nvidia-gpu', 'gpu', 0.95, 0.75, 0.88, batched_product=rounded(p['batched_nvidia']), **measured_vendor)
    # The K80's share of products is raised by a tenth: its networks are between 0.8 and 1.5 of what was measured.
    add('kepler', 'nvidia-gpu', 1.1 * p['vector kepler'], None, p['elementwise kepler'])
    add('maxwell', 'nvidia-gpu', 0.9, None, 0.76, vector_j_per_flop=2.8e-11)
    add('pascal', 'nvidia-gpu', 0.95, None, p['elementwise pascal'], vector_j_per_flop=rounded(p['joules_pascal']), **error_fields(OWN_ERRORS['pascal']))
    add('pascal-gp100', 'nvidia-gpu', 0.95, None, 0.76, vector_j_per_flop=rounded(p['joules_pascal']))
    fitted('volta', vector_j_per_flop=1.2e-11, matrix_j_per_flop=1.7e-12)
    add('turing', 'nvidia-gpu', 0.95, 0.75, p['elementwise turing'], vector_j_per_flop=1.2e-11, matrix_j_per_flop=1.7e-12)
    fitted('ampere-ga100', vector_j_per_flop=7e-12, matrix_j_per_flop=1.3e-12)
    add('ampere', 'nvidia-gpu', 0.95, p['matrix ampere'], min(p['elementwise ampere'], 0.93), vector_j_per_flop=7e-12, matrix_j_per_flop=1e-12,
        **error_fields(OWN_ERRORS['ampere']))
    add('ada', 'nvidia-gpu', 0.95, 0.85, p['elementwise ada'], vector_j_per_flop=3.5e-12, matrix_j_per_flop=1.15e-12)
    add('hopper', 'nvidia-gpu', 0.93, 0.75, 0.88, vector_j_per_flop=4e-12, matrix_j_per_flop=8e-13)
    add('blackwell', 'ada')
    add('blackwell-gb100', 'hopper', matrix_j_per_flop=5e-13)
    add('amd-gpu', 'gpu', 0.75, 0.5, 0.78, batched_product=rounded(p['batched_amd']), **measured_vendor)
    fitted('cdna1', 'amd-gpu')
    fitted('cdna2', 'amd-gpu')
    add('apple-gpu', 'gpu', 0.75, None, 0.8, error_device=0.25)
    add('intel-gpu', 'gpu', 0.7, 0.5, 0.75, error_device=0.25)
    entries['cpu'] = dict(product_vector=0.7, product_matrix=0.5, half_depth=32, half_width=8, half_outputs_per_tflops=10000, batched_product=0.6,
                          convolution_vector=0.8, convolution_matrix=0.8, winograd=1, grouped_convolution=0.6, convolution_gradient=0.9,
                          **memory(0.7), launch_s=1e-6, product_launch_s=2e-6, **error_fields(dict(errors, device=0.4)))
    return entries


def number(value):
    text = '%.3g' % value
    return text.replace('e-0', 'e-') if 'e' in text or value == 0 or abs(value) >= 1e-3 else ('%.2e' % value).replace('e-0', 'e-').replace('.00e', 'e')


def text_of(entries):
    lines = []
    for name, entry in entries.items():
        items = ['"%s": %s' % (k, json.dumps(v) if isinstance(v, str) else number(v)) for k, v in entry.items()]
        rows, row = [], '    "%s": {' % name
        for i, item in enumerate(items):
            item += ', ' if i + 1 < len(items) else '}'
            if len(row + item) > 118:
                rows.append(row.rstrip())
                row = '      '
            row += item
        lines.append('\n'.join([*rows, row]))
    source = ('Fitted by packaging/fit_devices.py to measurements of BERT, GPT-2 and GPT-3 layers on V100, A100, P4, MI100 and MI250 (NeuSight, '
              'Lee, Phanishayee, Mahajan 2025), of image classifiers on an RTX 3090 (pytorch-image-models) and a K80 (TensorFlow benchmarks 2017), '
              'of ResNet-50 on a V100 (PyTorch Kineto), and of a layer of Llama-2-70B in decode on A100, V100, T4 and L4 (Helix, Mei et al. 2025); '
              'README.md says how. Architectures that were not measured take the values of the nearest one; Hopper and Blackwell are such, the '
              'products of Turing and Ada, and all CPUs.')
    return ('{\n  "format": "placewright.efficiencies", "version": 1, "name": "Efficiencies",\n  "source": %s,\n  "architectures": {\n' % json.dumps(source)
            + ',\n'.join(lines) + '\n  }\n}\n')


def main():
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('cli')
    parser.add_argument('reference')
    parser.add_argument('--write', action='store_true', help='replace ' + os.path.relpath(FILE, ROOT))
    parser.add_argument('--leave-one-out', action='store_true', help='show how far times are off that a fit has not seen')
    arguments = parser.parse_args()
    module = checker(arguments.reference)
    model = Model(Samples(arguments.cli, module, arguments.reference).rows, data_sheets(module))
    decode = model.suite(('helix',))
    model.weights, decode_weights = np.where(decode, 0, model.weights), np.where(decode, model.weights, 0)
    x = model.fit(decode_weights, model.fit(model.weights, model.prior), names=FITTED_TO_DECODE)
    print('  '.join('%s %s' % (name, number(value)) for name, value in model.named(x).items()))
    model.report(x)
    if not arguments.leave_one_out and not arguments.write:
        return
    fits = model.fits_without_architectures(x)
    errors = model.errors(fits)
    if arguments.leave_one_out:
        print('errors: ' + '  '.join('%s %s' % (name, number(value)) for name, value in errors.items()))
        measured = lambda architecture: dict(errors, **OWN_ERRORS.get(architecture, {}))
        model.report_left_out('seen', {'all networks': (model.suite(STEPS), x)}, measured)
        model.report_left_out('without architecture', fits, lambda _: errors)
        model.report_left_out('without networks', model.fits_without_networks(x), measured)
    if arguments.write:
        with open(FILE, 'w') as f:
            f.write(text_of(table(model.named(x), errors)))


if __name__ == '__main__':
    main()
