# SPDX-License-Identifier: BSD-2-Clause
# Read by gdb when 'auxtap gdb' starts it. Frames in the past are the calls that the trace proves,
# because registers and stack, which gdb's own unwinders need, are unknown there. 'finish' prints no
# value if the register that contains it is unknown. Each step or continue says which thread it is
# for.
import bisect
import struct
import gdb
import gdb.unwinder

FRAMES = 0xff80 << 48  # the server's lists of frames, at addresses where no program has memory
WINDOW = 8192          # bytes for the list of each thread, selected by its tid
STACKS = 0xff7f << 48  # stack pointers of frame ids: programs have no addresses up to FRAMES


class AuxtapFrameId:
    """The id by which gdb compares frames: it is the same throughout the frame's life."""

    def __init__(self, stack, code):
        self.sp = stack
        self.pc = code


class AuxtapUnwinder(gdb.unwinder.Unwinder):
    def __init__(self):
        super().__init__('auxtap')
        self.read_at = None  # (thread, number of resumes) for which the following is valid
        self.frames = []     # (pc, entry, level); [] if gdb can unwind itself
        self.levels = []     # gdb's frame numbers, without those of inlined functions

    def read(self):
        inferior, thread = gdb.selected_inferior(), gdb.selected_thread()
        frames = FRAMES + WINDOW * thread.ptid[1]
        resumes, number = struct.unpack('<QQ', inferior.read_memory(frames, 16))
        if self.read_at == (thread.num, resumes):
            return
        words = inferior.read_memory(frames + 16, 24 * number) if number else b''
        self.read_at = (thread.num, resumes)
        self.frames = list(struct.iter_unpack('<QQq', words))
        self.levels = []

    def __call__(self, pending):
        try:
            self.read()
        except (gdb.error, AttributeError):
            return None  # not a recording of auxtap
        level = pending.level()
        at = bisect.bisect_left(self.levels, level)
        if at == len(self.levels) or self.levels[at] != level:
            self.levels.insert(at, level)
        if not self.frames or at > len(self.frames):
            return None
        # The caller of the outermost known frame is unknown. An unwinder cannot say so: gdb ends a
        # backtrace without an error only if a frame comes twice.
        pc, entry, depth = self.frames[min(at, len(self.frames) - 1)]
        caller = self.frames[min(at + 1, len(self.frames) - 1)][0]
        name = 'rip' if pending.architecture().name().startswith('i386') else 'pc'
        if int(pending.read_register(name)) & (1 << 64) - 1 != pc:
            return None
        number = pending.architecture().integer_type(64, False)
        info = pending.create_unwind_info(AuxtapFrameId(
            gdb.Value(STACKS + (1 << 47) - 16 * depth).cast(number),
            gdb.Value(entry).cast(number)))
        info.add_saved_register(name, gdb.Value(caller).cast(number))
        return info


class NotKnown:
    """
    gdb computes the address of a local variable from the frame id, and shows it as the value of a
    pointer to that variable.
    """

    def __init__(self, type_name):
        self.type_name = type_name

    def to_string(self):
        return f'({self.type_name}) <not known>'


def not_known(value):
    """The printer of a pointer or reference into a frame whose address is unknown; else None"""
    try:
        kind = value.type.strip_typedefs()
        if kind.code == gdb.TYPE_CODE_PTR:
            address = int(value)
        elif kind.code in (gdb.TYPE_CODE_REF, gdb.TYPE_CODE_RVALUE_REF):
            address = int(value.referenced_value().address)
        else:
            return None
        return NotKnown(value.type) if STACKS <= address % (1 << 64) < FRAMES else None
    except gdb.error:
        return None


gdb.unwinder.register_unwinder(None, AuxtapUnwinder(), replace=True)
gdb.pretty_printers.insert(0, not_known)


# gdb's packet for a reverse step names no thread. Before version 17 it was the one whose registers
# gdb had read last; since then "info threads" may have read those of others.
RESUMES = '''reverse-stepi reverse-nexti reverse-step reverse-next reverse-finish reverse-continue
stepi nexti step next finish until advance continue'''.split()


def auxtap_select():
    try:
        thread = gdb.selected_thread()
        thread.inferior.connection.send_packet('QAuxtapThread:%x' % thread.ptid[1])
    except (gdb.error, AttributeError):
        pass


def define_hook(name, code):
    """Defines a hook unless the user has one of that name."""
    try:
        gdb.execute('show user ' + name, to_string=True)
    except gdb.error:
        gdb.execute(f'define {name}\npython {code}\nend')


for resume in RESUMES:
    define_hook('hook-' + resume, 'auxtap_select()' if resume != 'finish' else
                'auxtap_select(); auxtap_return_value.before()')


class ReturnValue:
    """Prints the value for 'finish': gdb takes an unavailable register for one that contains 0."""

    def __init__(self):
        self.type = None  # return type of the selected frame's function; None: void, or unknown
        self.nr = 0       # number of values in gdb's history
        self.stopped = True
        try:
            gdb.execute('set print finish off')
        except gdb.error:
            return  # gdb before 12 has no such setting
        define_hook('hookpost-finish', 'auxtap_return_value.after()')
        # a target may still run when the command has ended
        gdb.events.stop.connect(self.at_stop)
        gdb.events.before_prompt.connect(self.at_prompt)

    def is_new(self):
        """Has gdb added values to its history since the last call?"""
        nr = self.nr
        try:
            while True:
                gdb.history(self.nr + 1)
                self.nr += 1
        except gdb.error:
            return self.nr > nr

    def before(self):
        """'finish' and, in the other direction, 'reverse-finish'"""
        self.type = None
        self.stopped = False
        try:
            frame = gdb.selected_frame()
            forward = gdb.execute('show exec-direction', to_string=True).startswith('Forward')
            if forward and frame.type() != gdb.INLINE_FRAME and frame.function():
                self.type = frame.function().type.target().strip_typedefs()
            self.is_new()
        except (gdb.error, RuntimeError):
            pass  # 'finish' prints the reason

    def after(self):
        if not self.type or not self.is_new():
            return  # void function, an earlier stop, or gdb has not stopped yet
        try:
            x86 = gdb.selected_inferior().architecture().name().startswith('i386')
            known = self.type.sizeof <= 8 and self.type.code in (
                gdb.TYPE_CODE_INT, gdb.TYPE_CODE_PTR, gdb.TYPE_CODE_ENUM, gdb.TYPE_CODE_BOOL,
                gdb.TYPE_CODE_CHAR, gdb.TYPE_CODE_REF)
            # vector registers are never recorded
            register = gdb.parse_and_eval(('$rax' if x86 else '$x0') if known else
                                          ('$xmm0' if x86 else '$v0'))
        except (gdb.error, AttributeError):
            return
        try:
            int(register)
            print('It is ' + gdb.history(0).format_string())
        except gdb.error:
            print('It is not known: the recording lacks the registers that contain it.')
            if hasattr(gdb, 'add_history'):
                gdb.add_history(register)  # so that '$' is unavailable, not gdb's wrong value

    def at_stop(self, _event):
        self.stopped = True

    def at_prompt(self):
        if self.stopped:
            self.after()
            self.type = None


auxtap_return_value = ReturnValue()
