# gdb prints what the tables of a CPython say, by its debug information: a line of a name
# and the function's address for each. typeslots.h, whose path is in $header, has the
# numbers of slots.
import re
import gdb


def variables(*kinds):
    """Those of a type, by its names, in all files."""
    for kind in kinds:
        file = ''
        for line in gdb.execute('info variables -q -t ^%s$' % kind, to_string=True).splitlines():
            m = re.match(r'File (.*):$', line)
            if m:
                file = m.group(1)
            m = re.match(r'\d+:\s+.*?(\w+);$', line)
            if m:
                v = gdb.parse_and_eval("'%s'::%s" % (file, m.group(1)))
                if not v.is_optimized_out:
                    yield v


def text(value):
    return value.string() if int(value) else ''


def say(owner, field, function):
    if int(function):
        print('%s.%s\t%#x' % (owner, field, int(function)))


def is_function(of):
    of = of.strip_typedefs()
    return of.code == gdb.TYPE_CODE_PTR and of.target().strip_typedefs().code == gdb.TYPE_CODE_FUNC


def functions(owner, structure):
    for f in structure.type.strip_typedefs().fields():
        if is_function(f.type):
            say(owner, f.name, structure[f.name])


def methods(owner, at):
    while int(at) and text(at['ml_name']):
        say(owner, text(at['ml_name']), at['ml_meth'])
        at += 1


def getsets(owner, at):
    while int(at) and text(at['name']):
        say(owner, text(at['name']) + '.get', at['get'])
        say(owner, text(at['name']) + '.set', at['set'])
        at += 1


def pointer(value, to):
    return value.cast(gdb.lookup_type(to).pointer())


suites = ['tp_as_async', 'tp_as_number', 'tp_as_sequence', 'tp_as_mapping', 'tp_as_buffer']
for t in variables('PyTypeObject', 'struct._typeobject'):
    owner = text(t['tp_name'])  # empty: it is filled in later
    functions(owner, t)
    for s in suites:
        if int(t[s]):
            functions(owner, t[s].dereference())
    methods(owner, t['tp_methods'])
    getsets(owner, t['tp_getset'])

for m in variables('PyModuleDef', 'struct.PyModuleDef'):
    owner = text(m['m_name'])
    functions(owner, m)
    methods(owner, m['m_methods'])

slots = {}
with open(gdb.parse_and_eval('$header').string()) as header:
    for m in re.finditer(r'#define Py_(\w+) (\d+)', header.read()):
        slots[int(m.group(2))] = m.group(1)
for s in variables('PyType_Spec'):
    owner, at = text(s['name']), s['slots']
    while int(at) and int(at['slot']):
        name = slots[int(at['slot'])]
        if name == 'tp_methods':
            methods(owner, pointer(at['pfunc'], 'PyMethodDef'))
        elif name == 'tp_getset':
            getsets(owner, pointer(at['pfunc'], 'PyGetSetDef'))
        elif name not in ['tp_doc', 'tp_members', 'tp_base', 'tp_bases', 'tp_token']:
            say(owner, name, at['pfunc'])
        at += 1

fields = {}
for f in gdb.lookup_type('PyHeapTypeObject').fields():
    for inner in f.type.strip_typedefs().fields() if f.type.strip_typedefs().code == gdb.TYPE_CODE_STRUCT else []:
        if is_function(inner.type):
            fields[(f.bitpos + inner.bitpos) // 8] = inner.name
at = gdb.parse_and_eval('&slotdefs[0]')
while text(at['name']):
    say('class', fields.get(int(at['offset']), '?'), at['function'])
    at += 1
