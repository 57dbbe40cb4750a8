# SPDX-License-Identifier: BSD-2-Clause
"""Compares the text report of a crash with the JSON: report_text_json.py SCHEMA NAME.json...

NAME.txt is the text. Both are reports of one file, with the same --calls. What a section of the
text says has to be in the JSON.
"""
import json
import os
import re
import shlex
import sys

import jsonschema


def sections(text):
    """The head is section ''."""
    found, name = {'': []}, ''
    lines = text.split('\n')
    for i, line in enumerate(lines):
        title = i and not lines[i - 1] and re.match(r'[A-Z][A-Za-z ()]+$', line)
        if title:
            name = line
            found[name] = []
        elif line.startswith('Memory in this file: '):
            found['Memory'] = [line]
        elif line:
            found[name].append(line)
    return found


def base(path):
    return path.rsplit('/', 1)[-1]


def place(loc):
    """As the text writes the place of a function: file and line, or its image."""
    return '%s:%d' % (base(loc['file']), loc['line']) if loc.get('file') else base(loc['image'])


def name_of(loc):
    if loc.get('replaced'):
        return loc['address'] + ', where other code was mapped, too'
    if 'function' not in loc:
        return loc['address']
    return loc['function'] + (' (inlined)' if loc.get('inlined') else '')


def subject_of(step, subject):
    if not step['is_shifted'] and not step['is_summed']:
        return subject or 'Before, it'
    added = 'a %s was added' % ('variable' if step['is_summed'] else 'constant')
    return '%s, before %s,' % (subject, added) if subject else 'Before %s, it' % added


def check_slice(crash, said):
    """The sentences about the slice, which are in the text."""
    sliced = crash['slice']
    found = []
    if not sliced:
        assert not any(line.startswith('Before, it was ') for line in said), said
        return found
    subject = {'pointer': 'The pointer' if int(sliced['value'], 16) else 'The null pointer',
               'index': 'The index', 'return_address': 'The return address',
               'after_block': 'That', 'stack_protector': "The stack protector's value",
               'divisor': 'The divisor'}[sliced['of']]
    if sliced['of'] == 'pointer' and crash['pointer_origin']:
        subject = None
    for step in sliced['steps']:
        first, rest = step['callers'][0], step['callers'][1:]
        if step['kind'] == 'never_set':
            at = crash['pointer_origin'] and crash['pointer_origin']['location']['address']
            if not subject and step is sliced['steps'][0] and at == step['location']['address']:
                words = 'That was a local variable that was never set, read by '
            else:
                subject = subject_of(step, subject)
                words = ' was read from a local variable that was never set, by '
        else:
            overwritten = sliced['of'] in ('return_address', 'after_block', 'stack_protector')
            subject = subject_of(step, subject)
            words = ' was %s%s %s ' % (
                'partly ' if step['is_part'] else '',
                'overwritten' if overwritten else step['kind'],
                'by' if step['location']['address'] == first['address'] else 'in a call from')
        words = (subject or '') + words + name_of(first)
        at = next(i for i, line in enumerate(said)
                  if line.startswith(words) and line not in found)
        found.append(said[at])
        if step['kind'] != 'never_set':
            for caller, line in zip(rest, said[at + 1:]):
                assert line.startswith('from ' + name_of(caller)), (line, caller)
                found.append(line)
        end = ', in thread %d' % step['tid'] if step['tid'] else ''
        assert found[-1].endswith(end) and (', in thread ' in found[-1]) == bool(end), found[-1]
        subject = None
    return found


def check_head(lines, report):
    crash, text = report['crash'], '\n'.join(lines)
    assert crash['signal']['name'] in lines[0] and crash['signal']['text'] in lines[0], lines[0]
    assert 'pid %d' % crash['pid'] in lines[0], lines[0]
    for key in ('location', 'called_from', 'came_from', 'last_traced'):
        loc = crash[key]
        if loc and loc.get('function') and (key == 'location') <= (crash['came_from'] is None):
            assert name_of(loc) in text, (key, loc, text)
    for key, words in (('came_from', ', from '), ('last_traced', ', last traced in ')):
        assert (crash[key] is not None) <= (words in lines[0]), (key, lines[0])
    if crash['called_from'] and not crash['came_from'] and not crash['last_traced']:
        words = 'called from ' if crash['called_directly'] else 'reached from '
        assert words + name_of(crash['called_from']) in text, (words, text)
    said = [line.strip() for line in lines[1:]]
    known = [crash['cause'], crash['message'] and 'Its message: ' + crash['message']]
    origin = crash['pointer_origin']
    if origin:
        what = ('address' if origin['is_code'] else
                'pointer' if int(origin['value'], 16) else 'null pointer')
        words = 'The %s was %s %s %s' % (
            what, origin['kind'], 'in a call from' if origin['in_call'] else 'by',
            name_of(origin['location']))
        rest = ''
        if origin['block']:
            block = next(b for b in report['pointed_memory'] if b['address'] == origin['block'])
            rest = ', from byte %d of the %sblock of %d bytes at %s' % (
                origin['offset'], 'freed ' if block['is_freed'] else '', block['bytes'],
                origin['block'])
        elif origin['variable']:
            is_whole = (origin['offset'], origin['variable_bytes']) == (0, 8)
            rest = ', from %sthe variable %s' % (
                '' if is_whole else 'byte %d of ' % origin['offset'], origin['variable'])
        line = next(line for line in said if line.startswith(words))
        assert line.endswith(rest) and (', from ' in line) == bool(rest), (line, origin)
        known.append(line)
    known += check_slice(crash, said)
    if crash['slice_lacks_order']:
        known += ['What wrote it is not known: the process had other threads, and the order of all their',
                  'writes is not recorded.']
    thrown = crash['exception']
    if thrown:
        words = 'Its exception: ' if thrown['uncaught'] else 'The exception being handled: '
        known.append(words + thrown['type'] +
                     ('' if thrown['what'] is None else '; what(): ' + thrown['what']))
        if thrown['thrown_by']:
            line = next(line for line in said if line.startswith('It was thrown by '))
            assert all(name_of(c) in line and (not c['file'] or place(c) in line)
                       for c in thrown['thrown_by']), (line, thrown)
            known.append(line)
    handled = crash['handled_fault']
    assert ('Before, a ' in text) == (handled is not None), text
    if handled:
        assert handled['signal']['name'] in text and name_of(handled['location']) in text, text
        known.append(handled['faults_again'] and
                     'With the registers below that instruction faults again: ' +
                     handled['faults_again'])
        if handled['cause'] and not handled['faults_again']:
            known.append("The frame of that handler says: " + handled['cause'])
        assert ('faults again' in text) == (handled['faults_again'] is not None), text
    overruns = report['heap_overruns']
    if overruns:
        words = 'The heap is damaged right after a block of %d bytes, allocated by %s' % (
            overruns[0]['bytes'], name_of(overruns[0]['allocated']['callers'][0]))
        known.append(next(line for line in said if line.startswith(words)))
    for line in said:
        assert line in known or re.match('called from |reached from |Before, a ', line), line
    assert all(k is None or k in said for k in known), (known, said)


def check_instruction(lines, report):
    insn = report['crash']['instruction']
    assert lines[0].split()[0] == insn['address'], lines
    assert insn['text'] is None or insn['text'] in lines[0], (lines[0], insn)
    shown = [re.match(r' +(\d+) \| (.*)', line) for line in lines]
    shown = [(int(m[1]), m[2]) for m in shown if m]
    if shown:
        source = insn['location']['source']
        line = source['lines'][shown[0][0] - source['first_line']]
        assert line.strip().replace('\t', ' ') == shown[0][1], (line, shown)


def check_registers(lines, report):
    words = ' '.join(lines).split()
    said = {k: int(v, 16) for k, v in zip(words[::2], words[1::2])}
    assert said == {k: int(v, 16) for k, v in report['registers'].items()}, said


def check_overruns(lines, report):
    lines = list(lines)

    def allocated(block):
        callers = block['allocated']['callers']
        assert lines[0].startswith('    allocated ') and name_of(callers[0]) in lines.pop(0), block
        for caller in callers[1:]:
            line = lines.pop(0)
            assert line.startswith('      from ') and name_of(caller) in line, (line, caller)

    for block in report['heap_overruns']:
        line = '  block of %d bytes at %s: what malloc keeps right after it was overwritten' % (
            block['bytes'], block['address'])
        if block['after_end']:
            word = int(block['after_end'], 16).to_bytes(8, 'little').rstrip(b'\0')
            line += ' with ' + block['after_end']
            if len(word) >= 4 and all(0x20 <= byte <= 0x7e for byte in word):
                line += ', as text "%s"' % word.decode()
        assert lines[0] == line, (lines[0], line)
        lines.pop(0)
        allocated(block)
        if block['next']:
            assert lines.pop(0) == '  block of %d bytes at %s, the next in memory' % (
                block['next']['bytes'], block['next']['address']), block
            allocated(block['next'])
    assert not lines, lines


def pointer_name(pointer):
    if 'variable' in pointer:
        return ('in ' if pointer['is_part'] else '') + '%s of %s' % (
            pointer['variable'], name_of(pointer))
    return pointer['register'] or "the fault's address"


def check_blocks(lines, report):
    lines = list(lines)
    for block in report['pointed_memory']:
        line, calls = lines.pop(0), ['bad_free', 'freed', 'allocated']
        at = [pointer_name(p) + (
            ' (at its end)' if p['offset'] and p['offset'] == block['bytes'] else
            ' (%d bytes past its end)' % (p['offset'] - block['bytes'])
            if p['offset'] > (block['bytes'] or 0) else
            ' (byte %d)' % p['offset'] if p['offset'] else '') for p in block['pointers']]
        words = ('unmapped', 'mapped', 'unmapped memory', 'mapped memory') if block['is_mapping'] \
            else ('freed', 'allocated', 'freed block', 'block')
        known = not block['is_unknown']
        assert line == '  %s%s at %s%s' % (
            words[2 if block['is_freed'] else 3] if known else 'memory not known to be allocated,',
            '' if block['bytes'] is None else ' of %d bytes' % block['bytes'], block['address'],
            ': ' + ', '.join(at) if at else ''), (line, block)
        for call in [c for c in calls if block[c]]:
            made, line = block[call], lines.pop(0)
            wrong = block.get('bad_free_offset')
            said = words[1] if call == 'allocated' else \
                'invalid free (byte %d)' % wrong if wrong and call == 'bad_free' else \
                'freed again' if call == 'bad_free' else block['free_state'].replace('_', ' ')
            assert line.startswith('    %s ' % said), (line, said)
            assert name_of(made['callers'][0]) in line, (line, made)
            assert ('in a call from' in line) == made['in_call'], (line, made)
            assert ('(tail call)' in line) == ('tail_call' in made['callers'][0]), (line, made)
            assert ('before the process was forked' in line) == (made['tid'] is None), line
            assert made['tid'] is None or ('by thread %d' % made['tid'] in line) == (
                made['tid'] != report['crash']['tid']), (line, made)
            for caller in made['callers'][1:]:
                line = lines.pop(0)
                assert line.startswith('      from ') and name_of(caller) in line, (line, caller)
                assert not caller['file'] or line.endswith(place(caller)), (line, caller)
        before = block['before']
        if before:
            assert lines.pop(0) == '    before it: a block of %d bytes at %s' % (
                before['bytes'], before['address'])
            for call in ('freed', 'allocated'):
                for nr, caller in enumerate(before[call]['callers']):
                    line = lines.pop(0)
                    assert line.startswith('        from ' if nr else '      %s ' % call), line
                    assert name_of(caller) in line, (line, caller)
    assert not lines, lines


def check_variables(line, functions):
    kind, values = re.match(r' {8}(args|locals|locals optimized out): (.*)', line).groups()
    shown = [v for f in functions
             for v in f.get('arguments' if kind == 'args' else 'locals', [])]
    if kind == 'locals optimized out':
        shown = [v['name'] for v in shown if v.get('optimized_out')]
    else:
        shown = ['%s=%s' % (v['name'], v['value']) for v in shown
                 if kind == 'args' or not v.get('optimized_out')]
    values = re.sub(r', \d+ more$', '', values)
    # control characters are \xNN in the text
    assert values in ', '.join(shown) or '\\x' in values, (line, shown)


def check_outer(lines, report):
    known = report['backtrace']['from_trace']
    rows, left_out, not_kept, perhaps = [], 0, False, False
    for line in lines:
        m = re.match(r'      \.\.\. (\d+) more$', line)
        if m:
            left_out = int(m[1])
            rows += [None] * left_out
        elif line.endswith(' further ones, too many to be kept'):
            most = 'at most ' if known['calls_not_kept_are'] == 'at_most' else ''
            not_kept = True
            assert line == '      ... and %s%d further ones, too many to be kept' % (
                most, known['calls_not_kept']), (line, known)
        elif line.startswith('      ... and perhaps further ones'):
            perhaps = True
        elif 'Arguments and local variables are left out' not in line:
            rows.append(line)
    assert not_kept == ('calls_not_kept' in known) and perhaps == known['perhaps_more'], lines
    assert len(rows) == len(known['rows']) or 'rows_left_out_before' in str(known), (lines, known)
    for line, row in zip(rows, known['rows']):
        if not line or 'rows_left_out_before' in row:
            continue
        text = row['function'] and name_of(row) + (
            ' at %s:%d' % (base(row['file']), row['line']) if row.get('file') else '')
        assert not text or line.strip().startswith(text), (line, row)
        assert (', depth %d (recursive)' % row.get('recursion_depth', 0) in line) == \
            ('recursion_depth' in row), (line, row)
        assert (' and other places' in line) == ('other_places' in row), (line, row)
        assert line.endswith(' (tail call)') == ('tail_call' in row), (line, row)


def check_backtrace(lines, report):
    assert any(line.startswith('  Known from the trace') for line in lines) == \
        ('from_trace' in report['backtrace']), lines
    frames = {f['level']: f for f in report['backtrace']['frames']}
    joined = re.sub(r',\n {10}', ', ', '\n'.join(lines))
    want = frame = None
    for line in joined.split('\n'):
        m = re.match(r'  #(\d+) +(.*)', line)
        if m:
            assert not want, ('missing in the text', want)
            frame = frames[int(m[1])]
            if frame['signal_handler']:
                assert m[2] == '<signal handler called>', line
                continue
            tails = [(t, f) for t in frame.get('tail_frames', []) for f in t['functions']]
            want = [(frame, f) for f in frame['functions']] + tails
            functions = frame['functions']
            line = ' ' * 6 + m[2]
        if line.startswith(' ' * 8):
            check_variables(line, functions)
        elif line.startswith('  Known from the trace'):
            check_outer(joined.split(line + '\n', 1)[1].split('\n'), report)
            return
        elif line.startswith(' ' * 6) and want:
            where, f = want.pop(0)
            if not f['function']:
                continue
            tail = ' (tail call)' if where is not frame and not f['inlined'] else ''
            text = name_of(f) + tail + (' at %s:%d' % (f['file'], f['line']) if f['file'] else
                                        ' in ' + where['image'])
            text += ' (unloaded)' if line.strip().startswith(text + ' (unloaded)') else ''
            if where.get('entered_within') and report['backtrace']['end'] != 'entered_within':
                text += ' (entered in its middle)'
            assert line.strip() == text, (line, text)
        elif 'Arguments and local variables are left out' in line:
            assert report['memory']['redacted']
        elif re.match(r'  \.\.\. \d+ more', line):
            want = None
        elif not re.match(r'      ', line):
            ends = {'... and further frames': 'too_many', 'No call returns': 'not_called',
                    'The next return address': 'no_code', 'The snapshot does not': 'not_in_snapshot',
                    'No file with': 'no_file', 'No unwind information': 'no_unwind_information',
                    'The return address of this': 'contradicted',
                    'A wrong address led into the middle': 'entered_within',
                    'This is 32-bit code': '32_bit_code',
                    'The stack makes no sense': 'senseless',
                    'What says where the next': 'overwritten'}
            if line.endswith('ariables and further frames are not known.'):
                assert report['backtrace']['end'] in (
                    'contradicted', 'entered_within', '32_bit_code'), line
                continue
            end = [v for k, v in ends.items() if line.startswith('  ' + k)]
            by = report['backtrace']['by_frame_pointers_from']
            if 'stack protector says' in line or "callers' registers is not" in line:
                assert report['backtrace']['overwritten_from'] is not None, line
                continue
            assert end == [report['backtrace']['end']] or (by is not None and (
                'that code; the next' in line or 'pointers, calls may' in line)) or \
                'a stack made by' in line, line


def check_calls(lines, report):
    rows = [r for r in report['calls']['rows']]
    said = [line for line in lines[1:] if re.match(r' {1,14}(\d+|\.\.\.|-- gap.*| ) ', line)]
    for line in said:
        m = re.match(r' +(\d+)? +(.*)', line)
        if '-- gap: ' in line:
            gap = re.search('-- gap: (.*) --', line)[1]
            assert gap in (r.get('text') for r in rows) or \
                gap == report['calls']['gap_before'], line
        elif m and m[1]:
            own = [r for r in rows if m[1] in (str(r.get('instructions')),
                                               str(r.get('own_instructions')))]
            names = [r for r in own if not r.get('function') or r['function'] in line
                     or m[2][:20].strip() in r['function']]
            assert names, line
    assert sum(r.get('current', False) for r in rows) <= 1


def check_branches(lines, report):
    rows, got = [line for line in lines if not line.startswith('  --')], report['branches']
    assert len(rows) == len(got), (len(rows), len(got))
    gaps = [re.match('  -- gap: (.*) --', line)[1] for line in lines if line.startswith('  --')]
    want = []
    for b in got:
        want += [b['gap_before']] if 'gap_before' in b else []
        want += ['uncounted'] if b.get('uncounted_after') else []
    want += [report['gap_after_branches']] if report['gap_after_branches'] else []
    assert gaps == want, (gaps, want)
    for line, b in zip(rows, got):
        for end in ('from', 'to'):
            loc = b[end]
            if loc and loc.get('function'):
                assert name_of(loc)[:80] in line and place(loc) in line, (line, loc)
        assert (b['count'] > 1) == bool(re.search(r'  x %d$' % b['count'], line)), (line, b)
        assert line.split()[0] == b['kind'] or b is got[-1], (line, b)


def check_coverage(lines, report):
    cover, text = report['coverage'], '\n'.join(lines)
    for key, words in (('instructions', '%d instructions'), ('branches', ' %d branches'),
                       ('threads', 'in %d thread'), ('trace_bytes', 'from %d bytes')):
        assert words % cover[key] in text, (key, text)
    m = re.search(r'  (\d+\.\d+) s of (emulated )?time', text)
    assert bool(m) == (cover['duration_ns'] is not None), text
    if m:
        assert m[1] == '%.6f' % (cover['duration_ns'] / 1e9), (m[1], cover)
        assert bool(m[2]) == cover['time_is_emulated'], text
    assert sorted(re.findall(r'\d+ gaps?: (\w+)', text)) == sorted(g['cause'] for g in cover['gaps'])
    m = re.search('flow of the dead thread ends at (0x[0-9a-f]+), but .* died at (0x[0-9a-f]+)',
                  text)
    assert (m.groups() if m else (None, None)) == (cover['flow_ends_at'], cover['died_at']), text
    complete = not cover['gaps'] and cover['from_start'] and cover['to_end'] and \
        not cover['threads_without_trace'] and cover['flow_ends_at'] is None
    assert complete == ('no gaps: complete from the first' in text), (complete, text)


def check_threads(lines, report):
    threads = {t['tid']: t for t in report['threads']}
    calls = []
    for line in lines:
        m = re.match(r'  \S.* (\d+) +(?:(\d+) instructions|no instructions|its tree of calls is above)',
                     line)
        if line.startswith('  -N: '):
            continue
        if m:
            assert not calls, calls
            thread = threads.pop(int(m[1]))
            assert thread['died'] or thread['instructions'] == int(m[2] or 0), (line, thread)
            calls = list(thread.get('last_calls', []))
            where = thread['location']
            assert thread['died'] or not where or not where.get('function') or \
                name_of(where) in line, line
        else:
            call = calls.pop(0)
            assert call['function'] in line and line.endswith('...') != call['returned'], line
            assert not call.get('file') or place(call) in line, (line, call)
    assert not calls and all(t['died'] for t in threads.values()), (calls, threads)


def check_images(lines, report):
    listed = [(i['name'], i['build_id'] or i['found_build_id']) for i in report['images']]
    assert len(listed) == len(set(listed)), listed
    found = sum(i['state'] == 'found' for i in report['images'])
    assert lines[0].startswith('  %d found' % found), (lines[0], found)
    for line in lines[1:]:
        m = re.match(r'  (missing|different|denied): (\S+)', line)
        if m:
            image = [i for i in report['images'] if i['name'] == m[2]][0]
            assert image['state'] == m[1], (line, image)


def check_memory(lines, report):
    assert lines == ['Memory in this file: ' + report['memory']['text']], lines


def check_next(lines, report):
    commands = ['  ' + ' '.join(map(shlex.quote, words)) +
                ('  # again: may show what wrote the wrong value' if words[1] == 'crash' else '')
                for words in report['next']]
    assert lines == ['  trace: ' + report['file']] + commands, lines


CHECKS = {
    '': check_head, 'Faulting instruction': check_instruction, 'Registers': check_registers,
    'Heap corruption': check_overruns,
    'Memory involved': check_blocks,
    'Backtrace': check_backtrace, 'The calls that led there': check_calls,
    'What the trace covers': check_coverage, 'The other threads': check_threads,
    'Images': check_images, 'Memory': check_memory, 'Next': check_next}


def pattern(name):
    """Of a name, of whose lists in brackets any may be abbreviated to '...'."""
    text, at = '', 0
    while at < len(name):
        close = {'<': '>', '(': ')'}.get(name[at])
        end, depth = at, 0
        while close and end < len(name):
            depth += (name[end] == name[at]) - (name[end] == close)
            end += 1
            if not depth:
                break
        if close and not depth and end > at + 2:
            text += '%s(?:%s|[.]{3})%s' % (re.escape(name[at]), pattern(name[at + 1:end - 1]),
                                           re.escape(close))
            at = end
        else:
            text += re.escape(name[at])
            at += 1
    return text


def abbreviate(value, text, short):
    """Long names as the text writes them; short: {name: as the text writes it}."""
    if isinstance(value, list):
        for element in value:
            abbreviate(element, text, short)
    if not isinstance(value, dict):
        return
    for key, element in value.items():
        if key == 'function' and element and len(element) > 60 and '...' not in element:
            if element not in short:
                found = re.search(pattern(element), text)
                short[element] = found[0] if found else element
            value[key] = short[element]
        else:
            abbreviate(element, text, short)


def main(schema, names):
    validator = jsonschema.Draft7Validator(json.load(open(schema)))
    for name in names:
        report = json.load(open(name))
        errors = [(list(e.absolute_path), e.message) for e in validator.iter_errors(report)]
        assert not errors, (name, errors[:3])
        text, short = open(os.path.splitext(name)[0] + '.txt').read(), {}
        found = sections(text)
        abbreviate(report, text, short)
        same = [s for s in short.values() if list(short.values()).count(s) > 1]
        assert not same, (name, 'several functions have the name', same[0])
        for title, lines in found.items():
            check = CHECKS[title] if title in CHECKS else \
                check_branches if title.startswith('Last branches') else sys.exit(
                    '%s: unknown section %s' % (name, title))
            try:
                if check:
                    check(lines, report)
            except (AssertionError, LookupError, TypeError) as e:
                sys.exit('%s: %s: %s' % (name, title or 'head', repr(e)[:1500]))
        assert len(found) >= 8, (name, list(found))
        print('%s: %d sections' % (name, len(found)))


main(sys.argv[1], sys.argv[2:])
