# SPDX-License-Identifier: BSD-2-Clause
# Converts a page to two strings of the program, the part before its JSON and the part after it:
#   page_file(OUT.c NAME TEMPLATE STYLE PAGE_STYLE SCRIPT...)
# defines NAME_head and NAME_tail. PAGE_STYLE may be a list of files.
# TEMPLATE contains @STYLE@, @PAGE_STYLE@, @SCRIPT@ (all scripts,
# one after the other), @DATA@, and @STYLE_HASH@ … for the Content-Security-Policy: the page runs
# this script and applies these styles, and nothing else.

# '0a1b…' (a SHA-256) in base64
function(base64_of_hash out hex)
  set(alphabet ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/)
  set(text "")
  string(APPEND hex 00) # 33 bytes: 44 characters, of which the last becomes '='
  foreach(at RANGE 0 60 6)
    string(SUBSTRING ${hex} ${at} 6 three)
    foreach(shift 18 12 6 0)
      math(EXPR digit "0x${three} >> ${shift} & 63")
      string(SUBSTRING ${alphabet} ${digit} 1 character)
      string(APPEND text ${character})
    endforeach()
  endforeach()
  string(SUBSTRING ${text} 0 43 text)
  set(${out} "${text}=" PARENT_SCOPE)
endfunction()

function(page_file out name template style page_style)
  foreach(file ${template} ${style} ${page_style} ${ARGN})
    set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS
      ${CMAKE_CURRENT_SOURCE_DIR}/${file})
  endforeach()
  file(READ ${template} page)
  file(READ ${style} STYLE)
  set(PAGE_STYLE "")
  foreach(file ${page_style})
    file(READ ${file} text)
    string(APPEND PAGE_STYLE "${text}")
  endforeach()
  set(SCRIPT "")
  foreach(file ${ARGN})
    file(READ ${file} text)
    string(APPEND SCRIPT "${text}")
  endforeach()
  foreach(part STYLE PAGE_STYLE SCRIPT)
    string(SHA256 hash "${${part}}")
    base64_of_hash(hash ${hash})
    string(REPLACE "@${part}_HASH@" "'sha256-${hash}'" page "${page}")
    string(REPLACE "@${part}@" "${${part}}" page "${page}")
  endforeach()
  string(FIND "${page}" "@DATA@" at)
  string(SUBSTRING "${page}" 0 ${at} head)
  math(EXPR at "${at} + 6")
  string(SUBSTRING "${page}" ${at} -1 tail)
  set(content "/* made from ${template} */\n")
  foreach(part head tail)
    string(HEX "${${part}}" hex)
    string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
    string(APPEND content
      "extern const char ${name}_${part}[];\nconst char ${name}_${part}[] = {\n${bytes}0};\n")
  endforeach()
  file(CONFIGURE OUTPUT ${out} CONTENT "${content}")
endfunction()

# Converts a file to a string of the program: text_file(OUT.c NAME FILE) defines NAME.
function(text_file out name file)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${file})
  file(READ ${file} hex HEX)
  string(REGEX REPLACE "(................................)" "\\1\n" hex "${hex}")
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${hex}")
  file(CONFIGURE OUTPUT ${out} CONTENT
    "/* made from ${file} */\nextern const char ${name}[];\nconst char ${name}[] = {\n${bytes}0};\n")
endfunction()
